import type { BenchClusters } from '../copy/bench-clusters.js';
import { readUsage, type RunUsage } from '../process-usage.js';

/** Cost of one step of a tool, with that of the servers in the same time. */
export interface Cost extends RunUsage {
  /** CPU time of all servers of a cluster; 0 for containers, which cannot be measured. */
  sourceCpu_seconds: number;
  destinationCpu_seconds: number;
}

/** After a destination was emptied and processes were started, the servers are busy for about this time. */
export const settle_ms = 1_500;

/**
 * Begins to measure.
 * @param pids processes of the tool; they and the servers must run until the last reading
 * @returns a function for the cost since then; the peak memory is that since the start of the processes
 */
export function watchCost({ source, destination }: BenchClusters, pids: readonly number[]): () => Cost {
  const used = () => [pids, source.pids, destination.pids].map((each) => readUsage(each).cpu_seconds);
  const before = used();
  const begin = performance.now();
  return () => {
    const seconds = (performance.now() - begin) / 1000;
    const [cpu_seconds = 0, sourceCpu_seconds = 0, destinationCpu_seconds = 0] = used().map(
      (after, index) => after - (before[index] ?? 0),
    );
    const { peakMemoryBytes } = readUsage(pids);
    return { seconds, cpu_seconds, sourceCpu_seconds, destinationCpu_seconds, peakMemoryBytes };
  };
}
