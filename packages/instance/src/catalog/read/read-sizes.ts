import type { NodeClient } from '../../cluster/node-client.js';
import { codeOf } from '../../cluster/failure.js';

/** Estimated size of a collection over all shards, orphans included. */
interface CollectionSize {
  sizeBytes: number;
  documentCount: number;
}

const UNKNOWN: CollectionSize = { sizeBytes: 0, documentCount: 0 };

/**
 * Reads the estimate, or zeros if the server refuses: only progress and the order of work may depend on it. Servers
 * answer `dataSize` from the counters of the collection. `$collStats` costs a shard several times as much, since its
 * `storageStats` lists all counters of the storage engine (seen on 5.0.7).
 */
export async function readSize(
  router: NodeClient,
  database: string,
  collection: string,
  signal: AbortSignal,
): Promise<CollectionSize> {
  try {
    const command = { dataSize: `${database}.${collection}`, estimate: true };
    const { size, numObjects } = await router.command(database, command, { signal });
    return { sizeBytes: count(size), documentCount: count(numObjects) };
  } catch (failure) {
    if (codeOf(failure) === null) throw failure;
    return UNKNOWN;
  }
}

function count(value: unknown): number {
  const number = Number(value);
  return Number.isFinite(number) && number > 0 ? number : 0;
}
