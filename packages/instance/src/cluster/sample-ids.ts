import { findValue, ownedValue, type RawValue } from '../bson/scan.js';
import type { NodeClient } from './node-client.js';
import { codeOf } from './failure.js';

/**
 * `_id`s of documents that the server draws at random, in no order.
 * @throws the server's error, for example 28799 if its random cursor finds the same documents again and again
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
  await cursor.close();
  return cursor.first.documents.flatMap((document) => {
    const id = findValue(document, '_id');
    return id === null ? [] : [ownedValue(id)];
  });
}

/** Like `sampleIds`, for sampling that only saves time: empty if the server refuses. */
export async function sampleIdsIfGiven(
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
