import { Buffer } from 'node:buffer';
import { decodeDocument } from '../../bson/decode.js';
import { asBuffer } from '../../bson/element-type.js';
import { encodeDocument, encodeElement } from '../../bson/encode.js';
import { decodeFields, scanElements } from '../../bson/scan.js';
import { type Doc, RawDocument, type Value } from '../../bson/value.js';
import { type CommandRequest, CommandError } from '../../node/command.js';
import { documentBytesMax } from '../../wire/document-check.js';
import { BatchBuilder } from './batch-size.js';
import type { RouterBatch, RouterCursor } from './router-cursors.js';
import type { ShardCursor } from './shard-cursor.js';

/** An order and its top-level fields. No other field of a document is decoded for it. */
export interface MergeOrder {
  readonly compare: (a: Doc, b: Doc) => number;
  readonly fields: readonly string[];
}

interface MergeOptions {
  /** Order of the result. Undefined reads shard after shard. */
  readonly order?: MergeOrder | undefined;
  readonly skip: number;
  /** Infinity for no limit. */
  readonly limit: number;
  /** The last step for each document. Undefined for none. */
  readonly project?: ((document: Value) => Value) | undefined;
  /** The result is that of a pipeline. */
  readonly piped?: boolean;
}

/** Smaller documents are never too large together with the values of an order. */
const largeDocumentMin = 4 * 1024 * 1024;

/**
 * Merges the cursors of several shards. It ends when a request exceeds the rest: a full batch leaves it open. Documents
 * are decoded only for comparisons and projections.
 */
export class MergedCursor implements RouterCursor {
  #skipLeft: number;
  #limitLeft: number;
  readonly #sortKeys = new WeakMap<RawDocument, Doc>();

  constructor(
    readonly namespace: string,
    private readonly cursors: readonly ShardCursor[],
    private readonly options: MergeOptions,
  ) {
    this.#skipLeft = options.skip;
    this.#limitLeft = options.limit;
  }

  async next(batchSize: number | undefined, request: CommandRequest): Promise<RouterBatch> {
    const batch = new BatchBuilder(batchSize ?? Infinity);
    let exhausted = false;
    while (!batch.full) {
      exhausted = this.#limitLeft <= batch.documents.length;
      if (exhausted) break;
      const source =
        this.options.order === undefined
          ? await this.#current(batchSize, request)
          : await this.#smallest(batchSize, request);
      const document = source?.peek();
      exhausted = source === undefined;
      if (source === undefined || document === undefined) break;
      if (this.#skipLeft > 0) this.#skipLeft -= 1;
      else if (!batch.add(this.#projected(document))) break;
      source.advance();
    }
    this.#limitLeft -= batch.documents.length;
    if (exhausted) await this.close(request);
    return {
      documents: batch.documents,
      exhausted,
      time: this.cursors.find((cursor) => cursor.time !== undefined)?.time,
    };
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
    const { order } = this.options;
    let smallest: { cursor: ShardCursor; key: Doc } | undefined;
    for (const cursor of this.cursors) {
      while (!cursor.hasBuffered && !cursor.drained) await cursor.fill(batchSize, request);
      const head = cursor.peek();
      if (head === undefined) continue;
      const key = this.#sortKey(head, order?.fields ?? []);
      if (smallest === undefined || (order?.compare(key, smallest.key) ?? 0) < 0) smallest = { cursor, key };
    }
    return smallest?.cursor;
  }

  #projected(document: Value): Value {
    const { project, order, piped } = this.options;
    const projected = project === undefined ? document : project(document);
    return order === undefined && piped !== true ? projected : withoutFirstDollarField(projected);
  }

  #sortKey(document: Value, fields: readonly string[]): Doc {
    if (!(document instanceof RawDocument)) return wholeDocument(document);
    let key = this.#sortKeys.get(document);
    if (key === undefined) {
      key = decodeFields(document.bytes, fields);
      if (document.bytes.length > largeDocumentMin) refuseTooLargeToOrder(this.#projected(document), key);
      this.#sortKeys.set(document, key);
    }
    return key;
  }
}

/** A document decoded. */
export function wholeDocument(document: Value): Doc {
  if (document instanceof Map) return document;
  return document instanceof RawDocument ? decodeDocument(document.bytes) : new Map<string, Value>();
}

const dollar = 0x24;
/** The field in which a shard sends them. */
const sortKeyName = '$sortKey';

/**
 * What a router makes of a document that several shards have sent for a merge by an order, or for a pipeline. It takes
 * the first top-level field whose name starts with `$` for the shards' metadata, and removes it (seen on 5.0.7; further
 * ones stay).
 */
function withoutFirstDollarField(document: Value): Value {
  if (document instanceof Map) {
    const first = [...document.keys()].find((name) => name.startsWith('$'));
    return first === undefined ? document : new Map([...document].filter(([name]) => name !== first));
  }
  if (!(document instanceof RawDocument)) return document;
  const bytes = asBuffer(document.bytes);
  for (const { start, end } of scanElements(bytes)) {
    if (bytes[start + 1] !== dollar) continue;
    const whole = Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
    whole.writeInt32LE(whole.length, 0);
    return new RawDocument(whole);
  }
  return document;
}

/**
 * A shard sends the values that decide the order together with each document, in one document.
 * @throws CommandError 10334 when the two together exceed the limit of a document
 */
function refuseTooLargeToOrder(document: Value, key: Doc): void {
  const bytes =
    document instanceof RawDocument
      ? document.bytes.length
      : document instanceof Map
        ? encodeDocument(document).length
        : 0;
  const beside = encodeElement(sortKeyName, [...key.values()]).length;
  if (bytes + beside <= documentBytesMax) return;
  const size = bytes + beside;
  const message =
    `BSONObj size: ${size} (0x${size.toString(16).toUpperCase()}) is invalid. Size must be between 0 and ` +
    `${documentBytesMax}(16MB)`;
  throw new CommandError(
    10334,
    'BSONObjectTooLarge',
    'Encountered non-retryable error during query :: caused by :: Executor error during find command :: caused ' +
      `by :: ${message}`,
  );
}
