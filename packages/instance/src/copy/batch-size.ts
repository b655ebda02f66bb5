import type { RawBatch } from '../cluster/node-client.js';

/**
 * Bytes of one batch. Larger ones copy no faster, and a batch exists several times while it passes through: as it was
 * received, as it is written, and waiting for its turn.
 */
const batchBytes = 2 ** 20;
/** Documents of one batch: a bulk write's reply stays small and a repeated batch is cheap. */
export const batchDocumentsMax = 2000;
/** As long as nothing is known of the documents: small collections need no second batch, and large documents fill a reply of 16 MB at most. */
const documentsUnknown = 100;

/** How many documents a reader asks for, so that its batches stay about the same number of bytes. */
export class BatchSize {
  #documentBytes: number;

  /** @param documentBytes the estimated size of one document; 0 when it is not known */
  constructor(documentBytes: number) {
    this.#documentBytes = documentBytes;
  }

  /** Documents of the next batch at most. */
  get documents(): number {
    if (this.#documentBytes <= 0) return documentsUnknown;
    return Math.min(batchDocumentsMax, Math.max(1, Math.floor(batchBytes / this.#documentBytes)));
  }

  /** Learns from a batch. */
  received({ documents, bytes }: Pick<RawBatch, 'documents' | 'bytes'>): void {
    if (documents.length > 0) this.#documentBytes = bytes / documents.length;
  }
}
