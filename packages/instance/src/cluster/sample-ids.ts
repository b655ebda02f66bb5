import { compareIds } from '../bson/id.js';
import { findValue, ownedValue, type RawValue, minKey } from '../bson/scan.js';
import { codeOf } from './failure.js';
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
