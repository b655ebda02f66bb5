import { Binary, type Document } from 'mongodb';
import { compareRaw } from '../bson/compare.js';
import { findValue, minKey, ownedValue, RawValue } from '../bson/scan.js';
import type { Cluster } from '../cluster/door.js';
import { codeOf } from '../cluster/failure.js';
import type { CatalogEntry } from './namespace.js';

/** Below this a collection is one share's alone: dividing it would cost more than it gains. */
const dividedBytesMin = 16 * 1024 * 1024;
/** Samples per share: evens out the ranges. */
const samplesPerShare = 32;

/**
 * `_id`s at which the shares of a collection end and the next begin, where several instances read one collection through
 * a router, from a random sample. All instances have to have the same ones: they are found once and stored.
 * @returns none when the collection is to stay with one share: it is small, capped, or its `_id`s cannot be compared here
 */
export async function sampleShareBounds(source: Cluster, entry: CatalogEntry, signal: AbortSignal): Promise<Binary[]> {
  const shares = source.shardIds.length;
  const isDivided = entry.type === 'collection' && shares > 1 && entry.sizeBytes >= dividedBytesMin && entry.options.capped !== true && !isCollated(entry);
  if (!isDivided) return [];
  const ids = (await sampledIds(source, entry, shares * samplesPerShare, signal)).sort(compareRaw);
  const bounds: RawValue[] = [];
  for (let share = 1; share < shares; share += 1) {
    const id = ids[Math.floor((ids.length * share) / shares)];
    // No range is empty: servers refuse bounds that do not ascend.
    const before = bounds.at(-1) ?? minKey;
    if (id !== undefined && compareRaw(before, id) < 0) bounds.push(id);
  }
  return bounds.map(storedId);
}

/** Whether the `_id` index of a collection has another collation than the simple one. */
export function isCollated(entry: CatalogEntry): boolean {
  const collation = entry.options.collation as { locale?: string } | undefined;
  return collation !== undefined && collation.locale !== 'simple';
}

/** The `_id`s that `sampleShareBounds` has chosen, as they were stored with the entry. */
export function shareBoundsOf(entry: CatalogEntry): RawValue[] {
  return (entry.shareBounds ?? []).map((stored) => {
    const bytes = Buffer.from(stored.value());
    return new RawValue(bytes.readUInt8(0), bytes.subarray(1));
  });
}

function storedId({ type, bytes }: RawValue): Binary {
  return new Binary(Buffer.concat([Buffer.from([type]), bytes]));
}

/** Sampling is for speed alone: where the server refuses, the collection stays with one share. */
async function sampledIds(source: Cluster, entry: CatalogEntry, size: number, signal: AbortSignal): Promise<RawValue[]> {
  const command: Document = { aggregate: entry.name, pipeline: [{ $sample: { size } }, { $project: { _id: 1 } }], cursor: { batchSize: size } };
  try {
    const cursor = await source.router.openCursor(entry.database, command, { signal });
    await cursor.close();
    return cursor.first.documents.flatMap((document) => {
      const id = findValue(document, '_id');
      return id === null ? [] : [ownedValue(id)];
    });
  } catch (error) {
    if (codeOf(error) === null) throw error;
    return [];
  }
}
