import type { RawBatch } from '../../cluster/node-client.js';

/** Bytes of one batch: large enough that round trips do not count, small enough that two batches of both sides of every partition fit. */
const batchBytes = 2 ** 20;
/** Documents of one batch at most. */
const batchDocumentsMax = 5_000;
/** As long as nothing is known of the documents: a reply ends at 16 MB by itself. */
const firstBatchDocuments = 100;

/** How many documents a reader asks for, so that its batches stay about the same number of bytes. */
export class ComparisonBatchSize {
  #documents = firstBatchDocuments;

  /** Documents of the next batch at most. */
  get documents(): number {
    return this.#documents;
  }

  /** Learns from a batch. */
  received({ documents, bytes }: Pick<RawBatch, 'documents' | 'bytes'>): void {
    if (documents.length === 0) return;
    this.#documents = Math.min(
      batchDocumentsMax,
      Math.max(1, Math.floor((batchBytes * documents.length) / Math.max(bytes, 1))),
    );
  }
}
