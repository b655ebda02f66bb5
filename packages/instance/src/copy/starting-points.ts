import { compareRaw } from '../bson/compare.js';
import type { RawValue } from '../bson/scan.js';
import type { NodeClient } from '../cluster/node-client.js';
import { codeOf, sampleFoundDuplicatesCode } from '../cluster/failure.js';
import { sampleIds } from '../cluster/sample-ids.js';
import type { IdRange } from '../store/partition-table.js';
import type { SyncedCollection } from '../store/synced-collection.js';

/** What a share has of a collection. */
export interface TaskPlan {
  /** Estimated size of its part. */
  sizeBytes: number;
  /** Of so many documents that can be sampled, one is the share's. */
  seenPerOwned: number;
  range: IdRange;
  /** How many partitions may begin at once. */
  startsMax: number;
}

/** Below this a second reader costs more than it gains. */
const startBytes = 8 * 1024 * 1024;
/** Samples per starting point: evens out the ranges. */
const samplesPerStart = 16;

/**
 * `_id`s at which further readers begin, from a random sample, in order and without repetition.
 * Sizes adapt by themselves later: a partition that takes long is closed and its rest becomes a new one.
 */
export async function startingPoints(
  shard: NodeClient,
  collection: SyncedCollection,
  { sizeBytes, seenPerOwned, range, startsMax }: TaskPlan,
  signal: AbortSignal,
): Promise<RawValue[]> {
  const starts = Math.min(startsMax, Math.floor(sizeBytes / startBytes));
  if (starts < 2 || collection.capped || collection.collated) return [];
  const size = starts * samplesPerStart * seenPerOwned;
  const ids = (await sampled(shard, collection, size, signal)).filter((id) => isInside(id, range)).sort(compareRaw);
  const chosen: RawValue[] = [];
  for (let index = samplesPerStart; index < ids.length; index += samplesPerStart) {
    const id = ids[index];
    const before = chosen.at(-1);
    if (id !== undefined && (before === undefined || compareRaw(before, id) < 0)) chosen.push(id);
  }
  return chosen;
}

/** Starting points lie between the bounds, not on them. */
function isInside(id: RawValue, { lower, upper }: IdRange): boolean {
  return compareRaw(lower, id) < 0 && compareRaw(id, upper) < 0;
}

/** None when the server's random cursor finds the same documents again and again: one reader then begins at the start. */
async function sampled(
  shard: NodeClient,
  { database, name }: SyncedCollection,
  size: number,
  signal: AbortSignal,
): Promise<RawValue[]> {
  try {
    return await sampleIds(shard, database, name, size, signal);
  } catch (error) {
    if (codeOf(error) === sampleFoundDuplicatesCode) return [];
    throw error;
  }
}
