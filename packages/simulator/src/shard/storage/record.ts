import type { Transaction } from './transaction.js';
import { PENDING, type TimeKey } from './time-key.js';

/** One state of a document. */
export class Version {
  constructor(
    /** Null from the document's deletion on. */
    public bytes: Uint8Array | null,
    /** Its commit time. PENDING inside a running transaction. */
    public time: TimeKey,
    /** The transaction that wrote it, while that runs. */
    public transaction: Transaction | null,
    public older: Version | null,
  ) {}

  /** Drops earlier states that nobody may read any more. */
  forgetOlder(): void {
    // The first state lives on as the document's record, which must not retain its bytes.
    if (this.older !== null) this.older.bytes = null;
    this.older = null;
  }
}

/**
 * A document's place in natural order with its states, newest first. It is its own first state: most documents never
 * change, and one object less for each matters.
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

/** The reader, and its time. */
export interface ReadView {
  readonly time: TimeKey;
  readonly transaction: Transaction | null;
}

/** The bytes of a record for a reader. Null when it does not exist for that reader. */
export function visibleBytes(record: DocumentRecord, view: ReadView): Uint8Array | null {
  let version: Version | null = record.newest;
  while (version !== null) {
    if (version.time <= view.time) return version.bytes;
    if (version.transaction !== null && version.transaction === view.transaction) return version.bytes;
    version = version.older;
  }
  return null;
}

/** True when another running transaction has written the record last. */
export function heldByAnother(record: DocumentRecord, transaction: Transaction | null): boolean {
  return record.newest.time === PENDING && record.newest.transaction !== transaction;
}

/**
 * The records of a collection in natural order. New records come last. Removed ones leave a gap until the gaps
 * outnumber the records.
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

  /** Records in natural order after the one of this id, including those appended meanwhile. */
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

/** Below this number of gaps compacting does not pay. */
const GAPS_MIN = 1024;
