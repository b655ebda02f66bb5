import { compareIds } from '../bson/id.js';
import { findValue, ownedValue, RawValue, minKey } from '../bson/scan.js';
import { elementType } from '../bson/element-type.js';
import { codeOf } from './failure.js';
import { seriesOf } from './time-series.js';
import type { NodeClient } from './node-client.js';

/**
 * At most `size` `_id`s of random documents, unsorted. Copy and verifier divide large collections at them.
 * @throws the server's error, for example 28799 if its random cursor found only documents that it had returned already
 */
export async function sampleIds(
  client: NodeClient,
  database: string,
  collection: string,
  size: number,
  signal: AbortSignal,
): Promise<RawValue[]> {
  if (seriesOf(collection) !== null) return spreadIds(client, database, collection, size, signal);
  const command = {
    aggregate: collection,
    pipeline: [{ $sample: { size } }, { $project: { _id: 1 } }],
    cursor: { batchSize: size },
  };
  const cursor = await client.openCursor(database, command, { signal });
  // The first batch holds the whole sample; the server may keep its cursor open after a full one.
  await cursor.close();
  return cursor.first.documents.flatMap((document) => {
    const id = findValue(document, '_id');
    return id === null ? [] : [ownedValue(id)];
  });
}

/** Seconds since 1970 in the first four bytes of an `ObjectId`. */
const secondsBytes = 4;

/**
 * `_id`s of the buckets of a time series, evenly spread over their time, in order: no bucket need have them. A random
 * cursor would sort all buckets; their `_id`s are `ObjectId`s that begin with the time of the first measurement.
 */
async function spreadIds(
  client: NodeClient,
  database: string,
  collection: string,
  size: number,
  signal: AbortSignal,
): Promise<RawValue[]> {
  const ends = await Promise.all(
    [1, -1].map(async (direction) => {
      const command = { find: collection, sort: { _id: direction }, projection: { _id: 1 }, limit: 1 };
      const cursor = await client.openCursor(database, command, { signal });
      await cursor.close();
      const [document] = cursor.first.documents;
      const id = document === undefined ? null : findValue(document, '_id');
      return id?.type === elementType.objectId ? Buffer.from(id.bytes).readUInt32BE(0) : null;
    }),
  );
  const [first, last] = ends;
  if (typeof first !== 'number' || typeof last !== 'number' || last <= first) return [];
  const count = Math.min(size, last - first);
  return Array.from({ length: count }, (_, index) => {
    const bytes = Buffer.alloc(objectIdBytes);
    bytes.writeUInt32BE(first + Math.round(((index + 1) * (last - first)) / (count + 1)), 0);
    return new RawValue(elementType.objectId, bytes);
  });
}

const objectIdBytes = secondsBytes + 8;

/** Like `sampleIds`, but empty on any error of the server: for callers that only lose time without a sample. */
export async function sampleIdsOrNone(
  client: NodeClient,
  { database, name }: { database: string; name: string },
  size: number,
  signal: AbortSignal,
): Promise<RawValue[]> {
  try {
    return await sampleIds(client, database, name, size, signal);
  } catch (error) {
    if (codeOf(error) === null) throw error;
    return [];
  }
}

/**
 * Cuts a random sample into ranges of about equal size and returns the bounds between them, ascending.
 * @param sample in any order
 * @param parts wanted number of ranges; a small sample, or one of equal values, gives fewer
 */
export function evenBounds(sample: readonly RawValue[], parts: number): RawValue[] {
  const ordered = [...sample].sort(compareIds);
  const bounds: RawValue[] = [];
  for (let part = 1; part < parts; part += 1) {
    const value = ordered[Math.floor((ordered.length * part) / parts)];
    // No range is empty: servers refuse bounds that do not ascend.
    const before = bounds.at(-1) ?? minKey;
    if (value !== undefined && compareIds(before, value) < 0) bounds.push(value);
  }
  return bounds;
}
