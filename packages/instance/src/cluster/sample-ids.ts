import { findValue, ownedValue, type RawValue } from '../bson/scan.js';
import type { NodeClient } from './node-client.js';
import { codeOf } from './failure.js';

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
