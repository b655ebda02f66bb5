import type { RawBatch } from '../../cluster/node-client.js';

/**
 * Bytes of one batch: large enough to make round trips negligible, small enough that two batches of both sides of every
 * partition fit.
 */
const batchBytes = 2 ** 20;
/** Maximum documents of one batch. */
const batchDocumentsMax = 5_000;
/** Before the size of documents is known: a reply ends at 16 MB anyway. */
const firstBatchDocuments = 100;

/** Chooses how many documents a reader requests, so that its batches keep about the same number of bytes. */
export class ComparisonBatchSize {
  #documents = firstBatchDocuments;

  /** Maximum documents of the next batch. */
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
