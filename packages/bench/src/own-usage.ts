import { readUsage, type RunUsage } from './process-usage.js';

/** Runs a piece of this process's work; the peak memory is that since the process began. */
export async function measureOwn(work: () => Promise<unknown>): Promise<RunUsage> {
  const before = process.cpuUsage();
  const begin = performance.now();
  await work();
  const seconds = (performance.now() - begin) / 1000;
  const { user, system } = process.cpuUsage(before);
  return {
    seconds,
    cpu_seconds: (user + system) / 1e6,
    peakMemoryBytes: readUsage([process.pid]).peakMemoryBytes,
  };
}

/** Prints this process's result for `runMeasured`, which then sends SIGTERM. */
export function printResult(result: object): void {
  console.log(JSON.stringify(result));
  setInterval(() => undefined, 60_000);
}
