import { fileURLToPath } from 'node:url';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { runMeasured } from '../measured-process.js';
import { type BenchClusters, shards } from './bench-clusters.js';
import { type BenchCollection, shardByHash } from './bench-documents.js';
import type { CopyResult } from './copy-result.js';
import type { LoopOrder, LoopConcurrency } from './loop-order.js';

const loopScript = fileURLToPath(new URL('./loop-process.js', import.meta.url));
const limit_ms = 300_000;

/** Copies the collection into an empty destination with a loop in a separate process. */
export async function runLoop(
  clusters: BenchClusters,
  folder: ScratchFolder,
  collection: BenchCollection,
  use: LoopOrder['use'],
  concurrency: LoopConcurrency,
): Promise<CopyResult> {
  await clusters.emptyDestination();
  await shardByHash(clusters.destinationClient, collection, shards);
  return runReadyLoop(clusters, folder, collection, use, concurrency);
}

/** The same into a destination that is empty and sharded as it shall be. */
export async function runReadyLoop(
  clusters: BenchClusters,
  folder: ScratchFolder,
  collection: BenchCollection,
  use: LoopOrder['use'],
  concurrency: LoopConcurrency,
): Promise<CopyResult> {
  const { source, destination } = clusters;
  const order: LoopOrder = {
    source: source.connectionString,
    destination: destination.connectionString,
    sourceShards: source.shardIds.map((id) => source.shardConnectionString(id)),
    use,
    collection,
    concurrency,
  };
  return runMeasured({ name: `${use} loop`, script: loopScript, order, limit_ms, logFile: folder.file('loop.log') });
}
