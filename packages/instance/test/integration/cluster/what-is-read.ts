import { BSON, type Document } from 'mongodb';
import { highestTime, operationTimes } from '../../../src/cluster/cluster-time.js';
import type { RawBatch, RawCursor } from '../../../src/cluster/node-client.js';
import type { SplitCluster } from './split-cluster.js';

/** The documents of a batch. */
export const decoded = (batch: RawBatch): Document[] => batch.documents.map((bytes) => BSON.deserialize(bytes));

/** A time at or after everything that was written. */
export async function timeAfterWrites({ cluster, signal }: SplitCluster): Promise<bigint> {
  return highestTime((await operationTimes(cluster, { signal })).values());
}

/** Everything that a cursor returns. */
export async function readAll(cursor: RawCursor, signal: AbortSignal): Promise<Document[]> {
  const documents = decoded(cursor.first);
  while (cursor.open) documents.push(...decoded(await cursor.next({ signal })));
  return documents;
}

/** What a promise is rejected with; null if it is not. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (error: unknown) => error,
  );
}
