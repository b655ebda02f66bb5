import { isDeepStrictEqual } from 'node:util';
import type { Document } from 'mongodb';
import { batchesOf, matchingAll } from '../reads.js';
import { idClass, idFilter, idOrNull, isSendable } from '../../bson/id.js';
import { losslessValue } from '../../bson/sent-value.js';
import { bufferOf, int32At, ownedValue, type RawValue } from '../../bson/scan.js';
import type { CallOptions, RawBatch, RawCursor } from '../node-client.js';
import { codeOf, CursorLostError, objectTooLargeCode } from '../failure.js';
import { openIdRange } from '../range-read.js';
import { commandBytesMax, partsWithin } from './write-command.js';

/** The reply field that wraps the requested document, and the bytes before that document: length, type, name. */
const field = 'd';
const head_bytes = 4 + 1 + field.length + 1;
/** Documents read by `_id` at once: each may have 16 MB. */
const idsMax = 4;
/** Documents read by `_id` before the ordered read is tried again. */
const roundsMax = 64;

/** Opens a cursor by a command. */
type Open = (command: Document, options: CallOptions) => Promise<RawCursor>;

/** Whether a router must merge whole documents of several shards in order. */
export function isOrderedReading({ find, sort, projection }: Document): boolean {
  return (
    find !== undefined && projection === undefined && sort !== undefined && (sort as Document).$natural === undefined
  );
}

/**
 * Reads whole documents in order through a router. A router that sorts documents omits their first top-level field
 * whose name starts with `$` (seen on 5.0.7), so Convoy asks for each document inside a field. The router also needs
 * the sort values beside each document. Both together may exceed the reply limit; then Convoy reads documents by their
 * `_id`s.
 * @throws CursorLostError from later batches: open the read again after the last document
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

/** Only a document that is too large together with its `_id` is read by `_id`. */
function refuseOther(error: unknown, { sort }: Document): void {
  if (codeOf(error) !== objectTooLargeCode || !isDeepStrictEqual(sort, { _id: 1 })) throw error;
}

/** A cursor whose documents are wrapped in a field. From a document on that is too large to sort, it reads by `_id`. */
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

/** The unwrapped documents, as views. */
function disclosed(documents: readonly Uint8Array[]): Uint8Array[] {
  return documents.map((whole) => whole.subarray(head_bytes, head_bytes + int32At(bufferOf(whole), head_bytes)));
}

/** Reads some documents in order: first their `_id`s, then the documents in any order. */
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

  /** @param after the `_id` of the last document read; null at the start */
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

  /** Documents with one `_id` on several shards are returned together, at the first of them. */
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
    const { find, filter, readConcern } = this.command as { find: unknown; filter?: Document; readConcern?: unknown };
    const cursor = await this.openOthers(
      {
        find,
        ...matchingAll(filter, idFilter(ids.map(sendable))),
        ...(readConcern === undefined ? {} : { readConcern }),
      },
      { signal: options.signal },
    );
    for await (const { documents } of batchesOf(cursor, options.signal)) {
      for (const document of documents) found.get(idClass(idIn(document), false))?.push(document);
    }
  }
}

/** The `_id`s in order from one on. A read without bounds extends to MaxKey, which a lower bound would omit. */
function openIds(open: Open, command: Document, after: RawValue | null, options: CallOptions): Promise<RawCursor> {
  if (after === null) return open(command, options);
  const isBounded = ['min', 'max'].some((name) => command[name] !== undefined);
  return isBounded
    ? open({ ...command, hint: { _id: 1 }, min: { _id: losslessValue(sendable(after)) } }, options)
    : openIdRange(open, command, { min: after }, options);
}

/** A copy of a document's `_id`: it is needed after its reply is gone. */
function idIn(document: Uint8Array): RawValue {
  return ownedValue(idOrNull(document));
}

function sendable(id: RawValue): RawValue {
  if (!isSendable(id)) throw new RangeError('an _id beside a document that is too large to be ordered cannot be sent');
  return id;
}

function bytesOf(documents: readonly Uint8Array[]): number {
  return documents.reduce((sum, { length }) => sum + length, 0);
}
