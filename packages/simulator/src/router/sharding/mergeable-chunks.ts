import type { Timestamp } from 'bson';
import type { Chunk } from '../../config/chunk-map.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';

/**
 * A chunk may drop its history once no snapshot read reaches back to its last move
 * (`minSnapshotHistoryWindowInSeconds`).
 */
const historySeconds = 300;

/** Runs of at least two adjacent chunks of a shard that are neither jumbo nor moved recently. */
export function mergeableRuns(collection: ShardedCollection, shard: string, now: Timestamp): Chunk[][] {
  const runs: Chunk[][] = [];
  let run: Chunk[] = [];
  for (const chunk of collection.chunks.chunks) {
    if (isMergeable(chunk, shard, now)) {
      run.push(chunk);
      continue;
    }
    runs.push(run);
    run = [];
  }
  return [...runs, run].filter((each) => each.length > 1);
}

function isMergeable(chunk: Chunk, shard: string, now: Timestamp): boolean {
  const since = chunk.history[0]?.validAfter.t ?? 0;
  const settled = chunk.history.length < 2 || since <= now.t - historySeconds;
  return chunk.shard === shard && chunk.jumbo !== true && settled;
}
