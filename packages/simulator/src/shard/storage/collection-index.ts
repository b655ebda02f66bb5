import type { Collation } from '../../bson/collation.js';
import type { Doc } from '../../bson/value.js';
import type { History } from './history.js';
import { hasAnyField, keyText, keyValuesOf, type IndexField } from './index-keys.js';
import { OrderedMap, type KeyRange } from './ordered-map.js';
import type { DocumentRecord, ReadView } from './record.js';
import { LATEST, PENDING, type TimeKey } from './time-key.js';
import type { Transaction } from './transaction.js';
import { HeldByTransaction, type WriteUnit } from './write-unit.js';

/** What an index is; `spec` is its description as `listIndexes` shows it. */
export interface IndexDefinition {
  readonly name: string;
  spec: Doc;
  readonly fields: readonly IndexField[];
  unique: boolean;
  /** True for an index that refuses new duplicates, on its way to being unique (6.0). */
  prepareUnique: boolean;
  readonly sparse: boolean;
  readonly collation: Collation | undefined;
  /** Of a partial index: whether it holds the document. */
  readonly holds: ((doc: Uint8Array) => boolean) | undefined;
  /** False for text, geo and wildcard indexes, which are described but not built. */
  readonly built: boolean;
}

interface IndexEntry {
  readonly record: DocumentRecord;
  from: TimeKey;
  to: TimeKey;
  owner: Transaction | null;
  older: IndexEntry | null;
}

const NOW: ReadView = { time: LATEST, transaction: null };

/** Digits of a record id behind a key: 36^9 is above any count of records. */
const RECORD_ID_DIGITS = 9;

/** One index of a collection, readable at every time of the history window. */
export class CollectionIndex {
  readonly #entries = new OrderedMap<IndexEntry>();
  /** True once a document gave more than one key. */
  multikey = false;

  constructor(
    readonly definition: IndexDefinition,
    /** True for the `_id` index, whose keys need no record id to be unique. */
    private readonly isIdIndex: boolean,
    private readonly history: History,
  ) {}

  /** Keys of a document, without repetitions; none when a sparse or partial index does not hold it. */
  keysOf(bytes: Uint8Array): string[] {
    const { definition } = this;
    if (!definition.built) return [];
    if (definition.holds !== undefined && !definition.holds(bytes)) return [];
    if (definition.sparse && !hasAnyField(bytes, definition.fields)) return [];
    const keyValues = keyValuesOf(bytes, definition.fields);
    const [only] = keyValues;
    if (only !== undefined && keyValues.length === 1) return [keyText(only, definition.fields, definition.collation)];
    return [...new Set(keyValues.map((values) => keyText(values, definition.fields, definition.collation)))];
  }

  /** The live record that already has this key, other than `except`. Throws HeldByTransaction when a running transaction decides. */
  duplicateOf(key: string, unit: WriteUnit, except: DocumentRecord | null): DocumentRecord | null {
    for (const entry of this.#entriesWith(key)) {
      if (entry.record === except || entry.to !== PENDING) continue;
      if (unit.transaction?.removedEntries.has(entry) === true) continue;
      const newest = entry.record.newest;
      if (newest.time === PENDING && newest.transaction !== null && newest.transaction !== unit.transaction) {
        throw new HeldByTransaction(newest.transaction);
      }
      return entry.record;
    }
    return null;
  }

  /** The documents that share a key now, group by group in key order. */
  duplicates(): Uint8Array[][] {
    const groups: Uint8Array[][] = [];
    let group: Uint8Array[] = [];
    let shared = '';
    for (const [stored, newest] of this.#entries.ascend({})) {
      const bytes = visibleEntry(newest, NOW)?.record.newest.bytes;
      if (bytes === null || bytes === undefined) continue;
      const key = this.isIdIndex ? stored : stored.slice(0, -RECORD_ID_DIGITS);
      if (key !== shared) group = [];
      shared = key;
      group.push(bytes);
      if (group.length === 2) groups.push(group);
    }
    return groups;
  }

  add(key: string, record: DocumentRecord, unit: WriteUnit): void {
    const stored = this.#storedKey(key, record);
    const entry: IndexEntry = { record, from: unit.time, to: PENDING, owner: unit.transaction, older: this.#entries.get(stored) ?? null };
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
    const entry = this.#entries.get(stored);
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
    return visibleEntry(this.#entries.get(key) ?? null, view)?.record ?? null;
  }

  /** Records in key order that have an entry for this reader. */
  *scan(range: KeyRange, view: ReadView, reverse: boolean): Generator<DocumentRecord> {
    const entries = reverse ? this.#entries.descend(range) : this.#entries.ascend(range);
    for (const [, newest] of entries) {
      const entry = visibleEntry(newest, view);
      if (entry !== null) yield entry.record;
    }
  }

  *#entriesWith(key: string): Generator<IndexEntry> {
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
    return this.isIdIndex ? key : key + record.id.toString(36).padStart(RECORD_ID_DIGITS, '0');
  }

  #forget(stored: string, entry: IndexEntry): void {
    const newest = this.#entries.get(stored);
    if (newest === entry) {
      if (entry.older === null) this.#entries.delete(stored);
      else this.#entries.set(stored, entry.older);
      return;
    }
    for (let at = newest ?? null; at !== null; at = at.older) {
      if (at.older === entry) {
        at.older = entry.older;
        return;
      }
    }
  }
}

function visibleEntry(newest: IndexEntry | null, view: ReadView): IndexEntry | null {
  for (let entry = newest; entry !== null; entry = entry.older) {
    const begun = entry.from <= view.time || (entry.owner !== null && entry.owner === view.transaction);
    if (begun && view.time < entry.to && view.transaction?.removedEntries.has(entry) !== true) return entry;
  }
  return null;
}
