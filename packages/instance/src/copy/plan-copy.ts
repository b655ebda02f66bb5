import type { CopyOrder, CopyOrderReason } from '@convoy/api/contract/copy-order';
import { idFilter } from '../bson/id.js';
import { compareRaw } from '../bson/order.js';
import { findValue, type RawValue } from '../bson/scan.js';
import { isLossless } from '../bson/sent-value.js';
import { codeOf, sampleFoundDuplicatesCode } from '../cluster/failure.js';
import type { NodeClient } from '../cluster/node-client.js';
import { sampleIds, sampleIdsOrNone } from '../cluster/sample-ids.js';
import type { IdRange } from '../store/partition.js';
import type { SyncedCollection } from '../store/synced-collection.js';

/** What the options of the start ask for. */
export interface OrderWish {
  /** `copyInNaturalOrder` names the collection. */
  requested: boolean;
  /** `detectRandomId`. */
  detects: boolean;
  /** Why the collection cannot be copied in natural order; null when it can. */
  obstacle: CopyOrderReason | null;
}

/** A smaller part fits into the cache of nearly every server that holds it, where the order of reads costs little. */
export const detectBytesMin = 20 * 2 ** 30;
/** Point reads that the detection costs. The correlation of 200 independent values has a deviation of 0.05. */
const sampleSize = 200;
/** Fewer say nothing. */
const sampleMin = 50;
/** Rank correlation from which on a read in `_id` order meets records in their order, or in the opposite one. */
const correlationMin = 0.5;

/** Chooses the order of a copy. @returns null when the options ask for none: then it is that of `_id` */
export async function chooseOrder(
  shard: NodeClient,
  collection: SyncedCollection,
  { requested, detects, obstacle }: OrderWish,
  sizeBytes: { part: number; detectMin: number },
  signal: AbortSignal,
): Promise<CopyOrder | null> {
  // A capped collection is always copied in natural order, in another way.
  if (collection.capped || (!requested && !detects)) return null;
  if (obstacle !== null) return { order: '_id', reason: obstacle };
  if (requested) return { order: 'natural', reason: 'requested' };
  if (sizeBytes.part < sizeBytes.detectMin) return { order: '_id', reason: 'small' };
  const records = await recordsInIdOrder(shard, collection, signal);
  if (records.length < sampleMin) return { order: '_id', reason: 'notSampled' };
  return Math.abs(orderCorrelation(records)) < correlationMin
    ? { order: 'natural', reason: 'randomIds' }
    : { order: '_id', reason: 'orderedIds' };
}

/** The record numbers of sampled documents, in the order of their `_id`s; empty when the server does not give them. */
async function recordsInIdOrder(
  shard: NodeClient,
  { database, name }: SyncedCollection,
  signal: AbortSignal,
): Promise<RawValue[]> {
  const ids = (await sampleIdsOrNone(shard, { database, name }, sampleSize, signal)).filter(isLossless);
  if (ids.length === 0) return [];
  const command = {
    find: name,
    filter: idFilter(ids),
    projection: { _id: 1 },
    hint: { _id: 1 },
    sort: { _id: 1 },
    showRecordId: true,
    batchSize: sampleSize,
  };
  try {
    const cursor = await shard.openCursor(database, command, { signal });
    await cursor.close();
    return cursor.first.documents.flatMap((document) => findValue(document, '$recordId') ?? []);
  } catch (error) {
    if (codeOf(error) === null) throw error;
    return [];
  }
}

/**
 * Kendall's rank correlation of a list with its sorted form: 1 for an ascending list, -1 for a descending one, about 0
 * for one in random order.
 */
function orderCorrelation(values: readonly RawValue[]): number {
  let sum = 0;
  for (let later = 1; later < values.length; later += 1)
    for (let earlier = 0; earlier < later; earlier += 1)
      sum += Math.sign(compareRaw(values[later] as RawValue, values[earlier] as RawValue));
  return sum / ((values.length * (values.length - 1)) / 2);
}

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
