import { isDeepStrictEqual } from 'node:util';
import type { Document } from 'mongodb';
import { idClass } from '../../bson/id-class.js';
import { isLossless, losslessValue } from '../../bson/lossless.js';
import { bufferOf, findValue, int32At, nullValue, ownedValue, type RawValue } from '../../bson/scan.js';
import type { CallOptions, RawBatch, RawCursor } from '../node-client.js';
import { codeOf, CursorLostError, objectTooLargeCode } from '../failure.js';
import { openIdRange } from '../id-range.js';
import { commandBytesMax, partsWithin } from './write-limits.js';

/** The field of a reply's documents that holds the one that was asked for, and what stands before it: a length, a type, the name. */
const field = 'd';
const head_bytes = 4 + 1 + field.length + 1;
/** Documents that are read by their `_id`s at once: each may have 16 MB. */
const idsMax = 4;
/** So many times, until the order is tried again. */
const roundsMax = 64;

/** Opens a cursor by a command. */
type Open = (command: Document, options: CallOptions) => Promise<RawCursor>;

/** Whether a router has to bring whole documents of several shards into an order. */
export function isOrderedReading({ find, sort, projection }: Document): boolean {
  return (
    find !== undefined && projection === undefined && sort !== undefined && (sort as Document).$natural === undefined
  );
}

/**
 * Reads whole documents in order through a router. Of a document that a router brings into an order it leaves out the first top-level field
 * whose name begins with `$` (seen on 5.0.7), so each document is asked for inside of a field. And it needs the values of the order
 * beside each document, which together may be larger than any reply: then documents are read by their `_id`s.
 * @throws CursorLostError from later batches: the reading is to be opened again behind the last document
 */
export async function openOrdered(open: Open, command: Document, options: CallOptions): Promise<RawCursor> {
  const ordered = { ...command, projection: { _id: 0, [field]: '$$ROOT' } };
  try {
    return new OrderedCursor(await open(ordered, options), open, command);
  } catch (error) {
    refuseOther(error, command);
    return CursorByIds.open(open, command, null, options);
  }
}

/** Only what is too large beside its `_id` can be read by it. */
function refuseOther(error: unknown, { sort }: Document): void {
  if (codeOf(error) !== objectTooLargeCode || !isDeepStrictEqual(sort, { _id: 1 })) throw error;
}

/** A cursor whose documents come inside of a field; from a document on that is too large to be ordered, by their `_id`s. */
class OrderedCursor implements RawCursor {
  readonly first: RawBatch;
  #last: RawValue | null = null;

  constructor(
    private inner: RawCursor,
    private readonly openOthers: Open,
    private readonly command: Document,
  ) {
    this.first = this.#disclosed(inner.first);
  }

  get open(): boolean {
    return this.inner.open;
  }

  async next(options: CallOptions): Promise<RawBatch> {
    if (this.inner instanceof CursorByIds) return this.inner.next(options);
    try {
      return this.#disclosed(await this.inner.next(options));
    } catch (error) {
      refuseOther(error, this.command);
      await this.inner.close();
      const byIds = await CursorByIds.open(this.openOthers, this.command, this.#last, options);
      this.inner = byIds;
      return byIds.first;
    }
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  #disclosed(batch: RawBatch): RawBatch {
    const documents = disclosed(batch.documents);
    const last = documents.at(-1);
    if (last !== undefined) this.#last = idIn(last);
    return { ...batch, documents, bytes: bytesOf(documents) };
  }
}

/** The documents themselves, as views. */
function disclosed(documents: readonly Uint8Array[]): Uint8Array[] {
  return documents.map((whole) => whole.subarray(head_bytes, head_bytes + int32At(bufferOf(whole), head_bytes)));
}

/** Some documents in order: their `_id`s first, then they themselves, in whatever order they come. */
class CursorByIds implements RawCursor {
  #rounds = 0;
  #last: string | null;

  private constructor(
    private readonly ids: RawCursor,
    private readonly openOthers: Open,
    private readonly command: Document,
    public first: RawBatch,
    after: RawValue | null,
  ) {
    this.#last = after === null ? null : idClass(after, false);
  }

  /** @param after the `_id` whose documents were read last; null: none was */
  static async open(open: Open, command: Document, after: RawValue | null, options: CallOptions): Promise<CursorByIds> {
    const ids = await openIds(open, { ...command, projection: { _id: 1 }, batchSize: idsMax }, after, options);
    const cursor = new CursorByIds(ids, open, command, ids.first, after);
    try {
      cursor.first = await cursor.#documentsOf(ids.first, options);
      return cursor;
    } catch (error) {
      await cursor.close();
      throw error;
    }
  }

  get open(): boolean {
    return this.ids.open;
  }

  async next(options: CallOptions): Promise<RawBatch> {
    this.#rounds += 1;
    if (this.#rounds >= roundsMax)
      throw new CursorLostError('The documents that are too large to be ordered may be passed');
    return this.#documentsOf(await this.ids.next({ ...options, batchDocumentsMax: idsMax }), options);
  }

  close(): Promise<void> {
    return this.ids.close();
  }

  /** Documents of one `_id`, on several shards, are read together, with the first of them. */
  async #documentsOf(batch: RawBatch, options: CallOptions): Promise<RawBatch> {
    const wanted = new Map<string, RawValue>();
    for (const document of batch.documents) {
      const id = idIn(document);
      const name = idClass(id, false);
      if (name !== this.#last) wanted.set(name, id);
    }
    this.#last = [...wanted.keys()].at(-1) ?? this.#last;
    const found = new Map<string, Uint8Array[]>([...wanted.keys()].map((name) => [name, []]));
    for (const part of partsWithin(wanted.values(), ({ bytes }) => bytes.length, commandBytesMax))
      await this.#read(part, found, options);
    const documents = [...found.values()].flat();
    return { ...batch, documents, bytes: bytesOf(documents) };
  }

  async #read(ids: readonly RawValue[], found: ReadonlyMap<string, Uint8Array[]>, options: CallOptions): Promise<void> {
    const { find, readConcern } = this.command as { find: unknown; readConcern?: unknown };
    const cursor = await this.openOthers(
      { find, filter: { _id: { $in: ids.map(sendable) } }, ...(readConcern === undefined ? {} : { readConcern }) },
      { signal: options.signal },
    );
    try {
      for (let batch = cursor.first; ; batch = await cursor.next({ signal: options.signal })) {
        for (const document of batch.documents) found.get(idClass(idIn(document), false))?.push(document);
        if (!cursor.open) return;
      }
    } finally {
      await cursor.close();
    }
  }
}

/** The `_id`s in order from one on. Where the reading has no bounds it goes on to MaxKey, which a lower bound would leave out. */
function openIds(open: Open, command: Document, after: RawValue | null, options: CallOptions): Promise<RawCursor> {
  if (after === null) return open(command, options);
  const isBounded = ['min', 'max', 'filter'].some((name) => command[name] !== undefined);
  return isBounded
    ? open({ ...command, hint: { _id: 1 }, min: { _id: sendable(after) } }, options)
    : openIdRange(open, command, { min: after }, options);
}

/** The `_id` of a document, as bytes of its own: it is wanted when its reply may be gone. */
function idIn(document: Uint8Array): RawValue {
  return ownedValue(findValue(document, '_id') ?? nullValue);
}

function sendable(id: RawValue): unknown {
  if (!isLossless(id)) throw new RangeError('an _id beside a document that is too large to be ordered cannot be sent');
  return losslessValue(id);
}

function bytesOf(documents: readonly Uint8Array[]): number {
  return documents.reduce((sum, { length }) => sum + length, 0);
}
