import { decodeDocument } from '../../bson/decode.js';
import { type Doc, RawDocument, type Value } from '../../bson/value.js';
import type { CommandRequest } from '../../node/command.js';
import { BatchBuilder } from './batch-size.js';
import type { Batch, RouterCursor } from './router-cursors.js';
import type { ShardCursor } from './shard-cursor.js';

export interface MergeOptions {
  /** Order of the result; undefined takes shard after shard. */
  readonly order?: ((a: Doc, b: Doc) => number) | undefined;
  readonly skip: number;
  /** Infinity for no limit. */
  readonly limit: number;
  /** What is done to each document at last, undefined for nothing. */
  readonly project?: ((document: Doc) => Doc) | undefined;
}

/** Merges the cursors of several shards; documents are only decoded when they must be compared or projected. */
export class MergedCursor implements RouterCursor {
  #skipLeft: number;
  #limitLeft: number;
  readonly #decoded = new WeakMap<RawDocument, Doc>();

  constructor(
    readonly namespace: string,
    private readonly cursors: readonly ShardCursor[],
    private readonly options: MergeOptions,
  ) {
    this.#skipLeft = options.skip;
    this.#limitLeft = options.limit;
  }

  async next(batchSize: number | undefined, request: CommandRequest): Promise<Batch> {
    const batch = new BatchBuilder(Math.min(batchSize ?? Infinity, this.#limitLeft));
    while (!batch.full) {
      const source = this.options.order === undefined ? await this.#current(batchSize, request) : await this.#smallest(batchSize, request);
      const document = source?.peek();
      if (source === undefined || document === undefined) break;
      if (this.#skipLeft > 0) this.#skipLeft -= 1;
      else if (!batch.add(this.#projected(document))) break;
      source.advance();
    }
    this.#limitLeft -= batch.documents.length;
    const exhausted = this.#limitLeft <= 0 || this.cursors.every((cursor) => cursor.drained);
    if (exhausted) await this.close(request);
    return { documents: batch.documents, exhausted, time: this.cursors.find((cursor) => cursor.time !== undefined)?.time };
  }

  async close(request: CommandRequest): Promise<void> {
    for (const cursor of this.cursors) await cursor.close(request);
  }

  async #current(batchSize: number | undefined, request: CommandRequest): Promise<ShardCursor | undefined> {
    for (const cursor of this.cursors) {
      while (!cursor.drained) {
        await cursor.fill(batchSize, request);
        if (cursor.hasBuffered) return cursor;
      }
    }
    return undefined;
  }

  async #smallest(batchSize: number | undefined, request: CommandRequest): Promise<ShardCursor | undefined> {
    let smallest: { cursor: ShardCursor; document: Doc } | undefined;
    for (const cursor of this.cursors) {
      while (!cursor.hasBuffered && !cursor.drained) await cursor.fill(batchSize, request);
      const head = cursor.peek();
      if (head === undefined) continue;
      const document = this.#decode(head);
      if (smallest === undefined || (this.options.order?.(document, smallest.document) ?? 0) < 0) smallest = { cursor, document };
    }
    return smallest?.cursor;
  }

  #projected(document: Value): Value {
    return this.options.project === undefined ? document : this.options.project(this.#decode(document));
  }

  #decode(document: Value): Doc {
    if (document instanceof Map) return document;
    if (!(document instanceof RawDocument)) return new Map();
    let decoded = this.#decoded.get(document);
    if (decoded === undefined) {
      decoded = decodeDocument(document.bytes);
      this.#decoded.set(document, decoded);
    }
    return decoded;
  }
}
