import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/**
 * Size from which the young generation stops to grow. From Node.js 24 on it would take up to 128 MiB, which an instance
 * fills with what is garbage already: about 100 MB more while a backlog is applied (`npm run bench -- peer`).
 */
const youngBytesMax = 16 * 2 ** 20;

/** Keeps this process from taking memory only to collect garbage more rarely. */
export function boundHeap(): void {
  const watch = new PerformanceObserver(() => {
    if (youngBytes() < youngBytesMax) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    watch.disconnect();
  });
  watch.observe({ entryTypes: ['gc'] });
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
}
