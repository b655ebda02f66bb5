import { Long } from 'bson';
import { RawDocument, type Doc, type Value } from '../../bson/value.js';
import type { ServerVersion } from '../../node/server-version.js';
import type { Batch, BatchSource, Cursors } from './cursors.js';

/** Default number of documents in a first batch. */
export const FIRST_BATCH_DOCUMENTS = 101;

/** What `cursor.open` needs besides the source. */
interface CursorOwner {
  readonly namespace: string;
  readonly collectionUuid: string | undefined;
  readonly session: string | undefined;
  readonly atTime?: boolean | undefined;
}

/**
 * Reads the first batch and leaves the cursor open unless it is exhausted or `singleBatch`.
 * @param batchSize documents at most; 0 opens the cursor without reading
 */
export async function firstBatchReply(
  cursors: Cursors,
  source: BatchSource,
  owner: CursorOwner,
  options: { batchSize: number; singleBatch: boolean; maxTimeMs: number | undefined; signal: AbortSignal },
): Promise<Doc> {
  const batch = await source.next(options.batchSize, options.maxTimeMs, options.signal);
  if (batch.exhausted || options.singleBatch) {
    source.close();
    return cursorReply('firstBatch', batch, 0n, owner.namespace);
  }
  const cursor = cursors.open({ ...owner, source });
  return cursorReply('firstBatch', batch, cursor.id, owner.namespace);
}

/** A reply with a batch, its fields in the server's order. */
export function cursorReply(batchName: 'firstBatch' | 'nextBatch', batch: Batch, id: bigint, namespace: string): Doc {
  const cursor: Doc = new Map<string, Value>([
    [batchName, batch.documents.map((document) => new RawDocument(document))],
  ]);
  if (batch.postBatchResumeToken !== undefined) cursor.set('postBatchResumeToken', batch.postBatchResumeToken);
  cursor.set('id', Long.fromBigInt(id));
  cursor.set('ns', namespace);
  if (batch.atClusterTime !== undefined) cursor.set('atClusterTime', batch.atClusterTime);
  return new Map([['cursor', cursor]]);
}

/** The reply of a query that finds nothing because there is no collection: 8.0 gives it like any other batch. */
export function emptyReply(namespace: string, version: ServerVersion): Doc {
  return version.atLeast(8, 0)
    ? cursorReply('firstBatch', { documents: [], exhausted: true }, 0n, namespace)
    : completeReply([], namespace);
}

/** The reply for a list that is complete at once, such as that of `listCollections` or of a missing collection. */
export function completeReply(documents: readonly Value[], namespace: string): Doc {
  const cursor: Doc = new Map<string, Value>([
    ['id', Long.fromNumber(0)],
    ['ns', namespace],
    ['firstBatch', [...documents]],
  ]);
  return new Map([['cursor', cursor]]);
}
