import { compareRaw } from '../bson/order.js';
import type { RawValue } from '../bson/scan.js';
import type { NodeClient } from '../cluster/node-client.js';
import { codeOf, sampleFoundDuplicatesCode } from '../cluster/failure.js';
import { sampleIds } from '../cluster/sample-ids.js';
import type { IdRange } from '../store/partition.js';
import type { SyncedCollection } from '../store/synced-collection.js';

/** One sync task's part of a collection. */
interface TaskPlan {
  /** Estimated size. */
  sizeBytes: number;
  /** Sampled documents per document that the task owns. */
  seenPerOwned: number;
  range: IdRange;
  /** Upper bound of the partitions at the start. */
  startsMax: number;
}

/** For fewer bytes a second reader costs more than it gains. */
const startBytes = 8 * 1024 * 1024;
/** Samples per starting point: evens out the ranges. */
const samplesPerStart = 16;

/**
 * Distinct `_id`s from a random sample, in order, at which further partitions start. Sizes adapt later: a partition
 * that takes long is split.
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

/** Empty when the server's random cursor returns too many duplicates: one reader then starts at the lower bound. */
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
