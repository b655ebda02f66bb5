import type { Collection } from '../storage/collection.js';
import type { DocumentWriter } from './document-writer.js';

/** Documents and bytes of one entry (server source: `internalInsertMaxBatchSize`, `insertVectorMaxBytes`). */
const batchDocumentsMax = 500;
const batchBytesMax = 256 * 1024;

/** How many of the documents from here on the server inserts with one entry. */
export function batchLength(documents: readonly Uint8Array[], from: number): number {
  let bytes = 0;
  let count = 0;
  while (count < batchDocumentsMax && from + count < documents.length && bytes < batchBytesMax) {
    bytes += documents[from + count]?.length ?? 0;
    count += 1;
  }
  return count;
}

/** Inserts documents as a stage does: in batches where the release has them. */
export function insertAll(
  writer: DocumentWriter,
  collection: Collection,
  documents: readonly Uint8Array[],
  inBatches: boolean,
): void {
  for (let at = 0; at < documents.length;) {
    const batch = documents.slice(at, at + (inBatches ? batchLength(documents, at) : 1));
    if (batch.length === 1 || !writer.insertTogether(collection, batch))
      for (const document of batch) writer.insert(collection, document, null);
    at += batch.length;
  }
}
