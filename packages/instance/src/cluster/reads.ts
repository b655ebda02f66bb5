import type { Document } from 'mongodb';
import type { RawBatch, RawCursor, CallOptions } from './node-client.js';

/** The field `filter` of a `find` that returns documents matching all the given queries; no field without any. */
export function matchingAll(...queries: readonly (Document | undefined)[]): { filter?: Document } {
  const given = queries.filter((query) => query !== undefined);
  if (given.length === 0) return {};
  return { filter: given.length === 1 ? (given[0] as Document) : { $and: given } };
}

/** Point reads at the same time, where a collection lies in the order of `_id`, and several would be a scan. */
export const pointReadsParallel = 8;

/** The batches of a cursor up to its end. It closes the cursor in any case, also when the reader stops before. */
export async function* batchesOf(cursor: RawCursor, signal: AbortSignal): AsyncGenerator<RawBatch, void> {
  try {
    for (let batch = cursor.first; ; batch = await cursor.next({ signal })) {
      yield batch;
      if (!cursor.open) return;
    }
  } finally {
    await cursor.close();
  }
}

/**
 * Bytes of one batch. Larger batches are read no faster: four times as large ones took a fifth longer, measured on
 * 5.0.7. Several batches exist at once, as received, as written or compared, and ahead.
 */
const batchBytes = 2 ** 20;
/** Keeps the reply of a bulk write small and the repetition of a batch cheap. */
export const batchDocumentsMax = 2000;
/** Used while the document size is unknown. Small collections need no second batch; a reply holds 16 MB at most. */
const documentsUnknown = 100;

/** Chooses how many documents a reader requests, so that batches have about the same number of bytes. */
export class BatchSize {
  #documentBytes: number;

  /** @param documentBytes the estimated size of one document; 0 when unknown */
  constructor(documentBytes: number) {
    this.#documentBytes = documentBytes;
  }

  /** Upper bound of the documents in the next batch. */
  get documents(): number {
    if (this.#documentBytes <= 0) return documentsUnknown;
    return Math.min(batchDocumentsMax, Math.max(1, Math.floor(batchBytes / this.#documentBytes)));
  }

  /** Updates the estimated document size. */
  received({ documents, bytes }: Pick<RawBatch, 'documents' | 'bytes'>): void {
    if (documents.length > 0) this.#documentBytes = bytes / documents.length;
  }
}

/** A cursor that is opened again after a failure. Its owner knows where: behind everything that it has received. */
export class ResumableCursor {
  #cursor: RawCursor | null = null;

  /** @param reopen opens the cursor where it continues; called for the first batch too */
  constructor(private readonly reopen: (signal: AbortSignal) => Promise<RawCursor>) {}

  /** False once the server reports the end. */
  get open(): boolean {
    return this.#cursor?.open === true;
  }

  /**
   * Fetches the next batch; after a failure, or `close`, the first one of a new cursor.
   * @throws the server's error
   */
  async next(options: CallOptions): Promise<RawBatch> {
    try {
      if (this.#cursor !== null) return await this.#cursor.next(options);
      this.#cursor = await this.reopen(options.signal);
      return this.#cursor.first;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Closes the cursor on the server; never throws. */
  async close(): Promise<void> {
    const cursor = this.#cursor;
    this.#cursor = null;
    await cursor?.close();
  }
}
