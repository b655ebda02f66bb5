import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/**
 * Size from which the young generation stops to grow. From Node.js 24 on it would take up to 128 MiB, which an instance
 * fills with what is garbage already; four times as much as here saved no processor time.
 */
const youngBytesMax = 16 * 2 ** 20;
/** Growth of the old generation between two collections, in percent of what survived; the default is up to 300. */
const oldGrowth_percent = 90;

/** Keeps this process from trading memory for fewer garbage collections. Measured with `npm run bench -- peer`. */
export function boundHeap(): void {
  setFlagsFromString(`--heap-growing-percent=${oldGrowth_percent}`);
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
