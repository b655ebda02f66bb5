import { fileURLToPath } from 'node:url';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { runMeasured } from '../measured-process.js';
import type { RunUsage } from '../process-usage.js';
import type { BenchClusters } from './bench-clusters.js';
import type { BenchCollection } from './bench-documents.js';
import type { LoopOrder, LoopConcurrency } from './loop-order.js';

const loopScript = fileURLToPath(new URL('./loop-process.js', import.meta.url));
const limit_ms = 300_000;

/** Copies the collection with a loop in a separate process; the destination is empty and sharded as it shall be. */
export async function runLoop(
  { source, destination }: BenchClusters,
  folder: ScratchFolder,
  collection: BenchCollection,
  concurrency: LoopConcurrency,
): Promise<RunUsage> {
  const order: LoopOrder = {
    source: source.connectionString,
    destination: destination.connectionString,
    collection,
    concurrency,
  };
  return runMeasured({ name: 'loop', script: loopScript, order, limit_ms, logFile: folder.file('loop.log') });
}
