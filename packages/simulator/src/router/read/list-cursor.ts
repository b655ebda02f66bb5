import type { Timestamp } from 'bson';
import type { Value } from '../../bson/value.js';
import { BatchBuilder } from './batch-size.js';
import type { RouterBatch, RouterCursor } from './router-cursors.js';

/**
 * A cursor over documents in memory. As on the server it ends when a request exceeds the rest: a full batch leaves it
 * open.
 */
export class ListCursor implements RouterCursor {
  #position = 0;

  constructor(
    readonly namespace: string,
    private readonly documents: readonly Value[],
    private readonly time?: Timestamp | undefined,
  ) {}

  next(batchSize?: number): Promise<RouterBatch> {
    const batch = new BatchBuilder(batchSize ?? Infinity);
    for (
      let document = this.documents[this.#position];
      document !== undefined && batch.add(document);
      document = this.documents[this.#position]
    ) {
      this.#position += 1;
    }
    return Promise.resolve({
      documents: batch.documents,
      exhausted: this.#position >= this.documents.length && !batch.full,
      time: this.time,
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
