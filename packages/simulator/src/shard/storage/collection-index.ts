import type { Collation } from '../../bson/collation.js';
import type { Doc } from '../../bson/value.js';
import type { History } from './history.js';
import { isArrayed, keyText, keyValuesOf, type IndexField } from './index-keys.js';
import { OrderedMap, type KeyRange } from './ordered-map.js';
import { type DocumentRecord, type ReadView, visibleBytes } from './record.js';
import { LATEST, PENDING, type TimeKey } from './time-key.js';
import type { Transaction } from './transaction.js';
import { HeldByTransaction, type WriteUnit } from './write-unit.js';

/** An index. `spec` is its description in `listIndexes`. */
export interface IndexDefinition {
  readonly name: string;
  spec: Doc;
  readonly fields: readonly IndexField[];
  unique: boolean;
  /** True for an index that refuses new duplicates before it becomes unique (6.0). */
  prepareUnique: boolean;
  readonly sparse: boolean;
  readonly collation: Collation | undefined;
  /** Of a partial index: whether it holds the document. */
  readonly holds: ((doc: Uint8Array) => boolean) | undefined;
  /** False for text, geo and wildcard indexes, which are described but not built. */
  readonly built: boolean;
}

/** The times between which a record is found under a key. */
class IndexEntry {
  to: TimeKey = PENDING;

  constructor(
    readonly record: DocumentRecord,
    public from: TimeKey,
    public owner: Transaction | null,
    public older: Entry | null,
  ) {}
}

/**
 * The entry of a key. A bare record has existed since its insert, which saves an object for most keys: its versions
 * decide from when on a reader sees it.
 */
type Entry = DocumentRecord | IndexEntry;

const NOW: ReadView = { time: LATEST, transaction: null };

/** Bound of the records without keys. Computing their keys takes half a second. */
const WAITING_RECORDS_MAX = 262_144;

/** Characters of a record id after a key, one per byte: 256^5 exceeds any number of records. */
const RECORD_ID_DIGITS = 5;

/** A key that several documents have. */
interface SharedKey {
  readonly key: string;
  readonly documents: [Uint8Array, ...Uint8Array[]];
}

/** One index of a collection, readable at every time of the history window. */
export class CollectionIndex {
  readonly #entries = new OrderedMap<Entry>();
  /** Records whose keys are computed on demand. They have not changed since their insert. */
  #waiting: DocumentRecord[] = [];
  /** True when the keys of a document never cause a refusal, neither as duplicates nor by the types of fields. */
  readonly #takesAll: boolean;
  #multikey = false;
  /** Its lifetime: from its creation until its drop. */
  readonly lived: { readonly from: TimeKey; to: TimeKey };

  constructor(
    readonly definition: IndexDefinition,
    /** True for the `_id` index, whose keys need no record id to be unique. */
    private readonly isIdIndex: boolean,
    private readonly history: History,
    madeAt: TimeKey,
  ) {
    this.lived = { from: madeAt, to: PENDING };
    const { fields } = definition;
    this.#takesAll = !isIdIndex && fields.length === 1 && (fields[0]?.hashed !== true || fields[0].path === '_id');
  }

  /** Notes a document with its keys. */
  note(bytes: Uint8Array, keys: readonly string[]): void {
    this.#multikey ||= keys.length > 1 || (keys.length === 1 && isArrayed(bytes, this.definition.fields));
  }

  /** True once an indexed field was an array. */
  get multikey(): boolean {
    this.addWaiting();
    return this.#multikey;
  }

  /** True when a new document may be indexed later, because its keys cannot cause a refusal. */
  canWait(unit: WriteUnit): boolean {
    const { unique, prepareUnique } = this.definition;
    return this.#takesAll && !unique && !prepareUnique && unit.transaction === null;
  }

  /** Indexes a record just inserted outside of a transaction, once a key is requested or before it changes. */
  addLater(record: DocumentRecord): void {
    this.#waiting.push(record);
    if (this.#waiting.length >= WAITING_RECORDS_MAX) this.addWaiting();
  }

  /** Indexes the waiting records. */
  addWaiting(): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const record of waiting) {
      const keys = record.bytes === null ? [] : this.keysOf(record.bytes);
      if (record.bytes !== null) this.note(record.bytes, keys);
      for (const key of keys) this.#entries.set(this.#storedKey(key, record), record);
    }
  }

  /** Keys of a document, without duplicates. None when a sparse or partial index does not hold it. */
  keysOf(bytes: Uint8Array): string[] {
    const { definition } = this;
    if (!definition.built) return [];
    if (definition.holds !== undefined && !definition.holds(bytes)) return [];
    const keyValues = keyValuesOf(bytes, definition.fields, definition.sparse);
    const [only] = keyValues;
    if (only !== undefined && keyValues.length === 1) return [keyText(only, definition.fields, definition.collation)];
    return [...new Set(keyValues.map((values) => keyText(values, definition.fields, definition.collation)))];
  }

  /**
   * The live record that already has this key, other than `except`.
   * @throws HeldByTransaction when a running transaction decides
   */
  duplicateOf(key: string, unit: WriteUnit, except: DocumentRecord | null): DocumentRecord | null {
    if (this.isIdIndex && this.#entries.get(key) === undefined) return null;
    this.addWaiting();
    for (const entry of this.#entriesWith(key)) {
      const record = recordOf(entry);
      if (record === except) continue;
      if (entry instanceof IndexEntry && isGone(entry, unit)) continue;
      const { newest } = record;
      if (
        newest.time === PENDING &&
        newest.transaction !== null &&
        newest.transaction !== unit.transaction &&
        !isSeen(entry, unit)
      ) {
        throw new HeldByTransaction(newest.transaction);
      }
      if (unit.transaction !== null && !isSeen(entry, unit)) throw new HeldByTransaction(unit.transaction);
      return record;
    }
    return null;
  }

  /** The documents that share a key now, group by group in key order. */
  duplicates(): SharedKey[] {
    this.addWaiting();
    const groups: SharedKey[] = [];
    let group: SharedKey | undefined;
    for (const [stored, newest] of this.#entries.ascend({})) {
      const bytes = visibleRecord(newest, NOW)?.newest.bytes;
      if (bytes === null || bytes === undefined) continue;
      const key = this.isIdIndex ? stored : stored.slice(0, -RECORD_ID_DIGITS);
      if (key !== group?.key) group = { key, documents: [bytes] };
      else if (group.documents.push(bytes) === 2) groups.push(group);
    }
    return groups;
  }

  add(key: string, record: DocumentRecord, unit: WriteUnit): void {
    const stored = this.#storedKey(key, record);
    const older = this.#entries.get(stored) ?? null;
    const isNew = record.newest === record && record.time === unit.time;
    if (isNew && older === null && unit.transaction === null) {
      this.#entries.set(stored, record);
      return;
    }
    const entry = new IndexEntry(record, unit.time, unit.transaction, older);
    this.#entries.set(stored, entry);
    unit.transaction?.add({
      commit: (time) => {
        entry.from = time;
        entry.owner = null;
      },
      rollBack: () => this.#forget(stored, entry),
    });
  }

  remove(key: string, record: DocumentRecord, unit: WriteUnit): void {
    const stored = this.#storedKey(key, record);
    const entry = this.#entryToEnd(stored);
    if (entry === undefined) return;
    const end = (time: TimeKey): void => {
      entry.to = time;
      this.history.retire(time, stored.length, () => this.#forget(stored, entry));
    };
    const { transaction } = unit;
    if (transaction === null) {
      end(unit.time);
      return;
    }
    transaction.removedEntries.add(entry);
    transaction.add({ commit: end, rollBack: () => void transaction.removedEntries.delete(entry) });
  }

  /** The record that a reader sees under exactly this key of the `_id` index. */
  lookup(key: string, view: ReadView): DocumentRecord | null {
    return visibleRecord(this.#entries.get(key) ?? null, view);
  }

  /** Records in key order that have an entry for this reader. */
  *scan(range: KeyRange, view: ReadView, reverse: boolean): Generator<DocumentRecord> {
    this.addWaiting();
    const entries = reverse ? this.#entries.descend(range) : this.#entries.ascend(range);
    for (const [, newest] of entries) {
      const record = visibleRecord(newest, view);
      if (record !== null) yield record;
    }
  }

  *#entriesWith(key: string): Generator<Entry> {
    if (this.isIdIndex) {
      const entry = this.#entries.get(key);
      if (entry !== undefined) yield entry;
      return;
    }
    for (const [stored, entry] of this.#entries.ascend({ from: key })) {
      if (stored.length !== key.length + RECORD_ID_DIGITS || !stored.startsWith(key)) return;
      yield entry;
    }
  }

  #storedKey(key: string, record: DocumentRecord): string {
    return this.isIdIndex ? key : key + recordIdText(record.id);
  }

  /** The newest entry under a key, as one that can get an end. */
  #entryToEnd(stored: string): IndexEntry | undefined {
    const entry = this.#entries.get(stored);
    if (entry === undefined || entry instanceof IndexEntry) return entry;
    const made = new IndexEntry(entry, 0, null, null);
    this.#entries.set(stored, made);
    return made;
  }

  #forget(stored: string, entry: IndexEntry): void {
    const newest = this.#entries.get(stored);
    if (newest === entry) {
      if (entry.older === null) this.#entries.delete(stored);
      else this.#entries.set(stored, entry.older);
      return;
    }
    for (let at = newest; at instanceof IndexEntry; at = at.older ?? undefined) {
      if (at.older === entry) {
        at.older = entry.older;
        return;
      }
    }
  }
}

/** Fixed in width and highest byte first, so that equal keys keep the order of their records. */
function recordIdText(id: number): string {
  return String.fromCharCode(
    Math.floor(id / 2 ** 32),
    (id >>> 24) & 0xff,
    (id >>> 16) & 0xff,
    (id >>> 8) & 0xff,
    id & 0xff,
  );
}

function recordOf(entry: Entry): DocumentRecord {
  return entry instanceof IndexEntry ? entry.record : entry;
}

/** Whether a transaction has read the entry of a key, which then exists for it whatever others do meanwhile. */
function isSeen(entry: Entry, { transaction }: WriteUnit): boolean {
  if (transaction === null) return false;
  const view = { time: transaction.readTime, transaction };
  const record = visibleRecord(entry, view);
  return record !== null && visibleBytes(record, view) !== null;
}

/** Whether a writer is free to take the key of an entry: it has removed it, or others had before the writer's time. */
function isGone(entry: IndexEntry, { transaction }: WriteUnit): boolean {
  if (transaction === null) return entry.to !== PENDING;
  return transaction.removedEntries.has(entry) || entry.to <= transaction.readTime;
}

/** The record that a reader finds under a key. The record's versions decide whether it sees a document there. */
function visibleRecord(newest: Entry | null, view: ReadView): DocumentRecord | null {
  let entry = newest;
  while (entry instanceof IndexEntry) {
    const begun = entry.from <= view.time || (entry.owner !== null && entry.owner === view.transaction);
    if (begun && view.time < entry.to && view.transaction?.removedEntries.has(entry) !== true) return entry.record;
    entry = entry.older;
  }
  return entry;
}
