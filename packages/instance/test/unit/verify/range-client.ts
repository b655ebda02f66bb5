import { BSON, type Document } from 'mongodb';
import { compareRaw } from '../../../src/bson/order.js';
import type { CallOptions, NodeClient, RawBatch, RawCursor, WriteOutcome } from '../../../src/cluster/node-client.js';
import { idOrNull } from '../../../src/bson/id.js';
import { serverError } from '../fake-node-client.js';
import { isInRange } from '../id-range.js';

const cursorNotFound = () => serverError(43, 'CursorNotFound');

/** A client of one collection, whose cursors return a few documents at a time and are sometimes lost. */
export class RangeClient implements NodeClient {
  readonly label = 'router';
  readonly documents: readonly Uint8Array[];
  /** Number of opened cursors. */
  opened = 0;

  /** @param random from 0 to 1; documents of one `_id` are in no order */
  constructor(
    documents: readonly Document[],
    private readonly random: () => number,
    private readonly lossRate: number,
  ) {
    this.documents = documents
      .map((document) => BSON.serialize(document))
      .sort((a, b) => compareRaw(idOrNull(a), idOrNull(b)));
  }

  openCursor(_database: string, command: Document, { signal }: CallOptions): Promise<RawCursor> {
    signal.throwIfAborted();
    this.opened += 1;
    const inside = this.documents.filter((document) => isInRange(idOrNull(document), command));
    return Promise.resolve(new LossyCursor(inside, this.random, this.lossRate));
  }

  command(): Promise<Document> {
    return Promise.reject(new Error('this client supports only cursors'));
  }

  write(): Promise<WriteOutcome> {
    return Promise.reject(new Error('this client supports only cursors'));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

class LossyCursor implements RawCursor {
  readonly first: RawBatch;
  #at = 0;

  constructor(
    private readonly documents: readonly Uint8Array[],
    private readonly random: () => number,
    private readonly lossRate: number,
  ) {
    this.first = this.#take();
  }

  get open(): boolean {
    return this.#at < this.documents.length;
  }

  next(): Promise<RawBatch> {
    if (this.random() < this.lossRate) return Promise.reject(cursorNotFound());
    return Promise.resolve(this.#take());
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #take(): RawBatch {
    const documents = this.documents.slice(this.#at, this.#at + 1 + Math.floor(this.random() * 4));
    this.#at += documents.length;
    return { documents, bytes: documents.reduce((sum, { length }) => sum + length, 0) };
  }
}
