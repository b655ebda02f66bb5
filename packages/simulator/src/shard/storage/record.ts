import type { Transaction } from './transaction.js';
import { PENDING, type TimeKey } from './time-key.js';

/** One state of a document. */
export class Version {
  constructor(
    /** Null from the document's deletion on. */
    public bytes: Uint8Array | null,
    /** When it was committed; PENDING inside a running transaction. */
    public time: TimeKey,
    /** The transaction that wrote it, while that runs. */
    public transaction: Transaction | null,
    public older: Version | null,
  ) {}

  /** Forgets what was before this state, when nobody may read it any more. */
  forgetOlder(): void {
    // The first state lives on as the document's record, which must not keep its bytes.
    if (this.older !== null) this.older.bytes = null;
    this.older = null;
  }
}

/**
 * A document's place in natural order with its states, newest first. It is its own first state: most documents are
 * never changed, and an object fewer for each is felt.
 */
export class DocumentRecord extends Version {
  newest: Version = this;

  constructor(
    readonly id: number,
    bytes: Uint8Array,
    time: TimeKey,
    transaction: Transaction | null,
  ) {
    super(bytes, time, transaction, null);
  }
}

/** Who reads, and when. */
export interface ReadView {
  readonly time: TimeKey;
  readonly transaction: Transaction | null;
}

/** The bytes of a record as a reader sees them; null when it does not exist for that reader. */
export function visibleBytes(record: DocumentRecord, view: ReadView): Uint8Array | null {
  let version: Version | null = record.newest;
  while (version !== null) {
    if (version.time <= view.time) return version.bytes;
    if (version.transaction !== null && version.transaction === view.transaction) return version.bytes;
    version = version.older;
  }
  return null;
}

/** True when another transaction, which still runs, has written the record last. */
export function heldByAnother(record: DocumentRecord, transaction: Transaction | null): boolean {
  return record.newest.time === PENDING && record.newest.transaction !== transaction;
}

/**
 * The records of a collection in natural order. Records only come at the end; removed ones leave a gap
 * until the gaps outnumber the records.
 */
export class RecordLog {
  #records: (DocumentRecord | undefined)[] = [];
  #ids: number[] = [];
  #gaps = 0;
  #compactions = 0;
  #nextId = 1;

  get count(): number {
    return this.#records.length - this.#gaps;
  }

  append(bytes: Uint8Array, time: TimeKey, transaction: Transaction | null): DocumentRecord {
    const record = new DocumentRecord(this.#nextId, bytes, time, transaction);
    this.#nextId += 1;
    this.#records.push(record);
    this.#ids.push(record.id);
    return record;
  }

  remove(record: DocumentRecord): void {
    const at = this.#positionOf(record.id);
    if (this.#records[at]?.id !== record.id) return;
    this.#records[at] = undefined;
    this.#gaps += 1;
    if (this.#gaps > GAPS_MIN && this.#gaps * 2 > this.#records.length) this.#compact();
  }

  /** Records in natural order behind the one of this id, those appended meanwhile included. */
  *ascend(behindId = 0): Generator<DocumentRecord> {
    let lastId = behindId;
    for (;;) {
      const compactions = this.#compactions;
      let at = this.#positionOf(lastId + 1);
      for (;;) {
        if (at >= this.#records.length) return;
        const record = this.#records[at];
        at += 1;
        if (record === undefined) continue;
        lastId = record.id;
        yield record;
        if (this.#compactions !== compactions) break;
      }
    }
  }

  *descend(): Generator<DocumentRecord> {
    let lastId = this.#nextId;
    for (;;) {
      const compactions = this.#compactions;
      let at = this.#positionOf(lastId) - 1;
      for (;;) {
        if (at < 0) return;
        const record = this.#records[at];
        at -= 1;
        if (record === undefined) continue;
        lastId = record.id;
        yield record;
        if (this.#compactions !== compactions) break;
      }
    }
  }

  /** Position of the first record whose id is not below `id`. */
  #positionOf(id: number): number {
    let low = 0;
    let high = this.#ids.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ids[middle] as number) < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #compact(): void {
    this.#records = this.#records.filter((record) => record !== undefined);
    this.#ids = this.#records.map((record) => (record as DocumentRecord).id);
    this.#gaps = 0;
    this.#compactions += 1;
  }
}

/** Below this many gaps compacting is not worth it. */
const GAPS_MIN = 1024;
