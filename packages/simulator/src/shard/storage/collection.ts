import type { Binary } from 'bson';
import type { Collation } from '../../bson/collation.js';
import { scanPath } from '../../bson/scan.js';
import { documentText } from '../../bson/text.js';
import type { Doc, Value } from '../../bson/value.js';
import type { EntryNamespace } from '../oplog/entry.js';
import { CommandError } from '../../node/command.js';
import { CollectionIndex, type IndexDefinition } from './collection-index.js';
import type { History } from './history.js';
import { idKeyText, keyValuesOf } from './index-keys.js';
import { splitNamespace } from '../../node/namespace.js';
import { heldByAnother, RecordLog, Version, visibleBytes, type DocumentRecord, type ReadView } from './record.js';
import { LATEST, PENDING, type TimeKey } from './time-key.js';
import { HeldByTransaction, type WriteUnit } from './write-unit.js';

/** Limits of a capped collection. */
interface CapLimits {
  readonly bytesMax: number;
  /** Infinity when only bytes are limited. */
  readonly documentsMax: number;
}

const NOW: ReadView = { time: LATEST, transaction: null };

/** The documents and indexes of one collection, with their history. */
export class Collection {
  readonly records = new RecordLog();
  readonly idIndex: CollectionIndex;
  readonly secondaryIndexes: CollectionIndex[] = [];
  readonly #droppedIndexes = new Set<CollectionIndex>();
  documentCount = 0;
  documentBytes = 0;
  /** Time of the last change of the collection's description. Reads at earlier times are refused. */
  minimumVisibleTime: TimeKey;
  cap: CapLimits | undefined;
  /** Whether a bucket may have values of different types in a field (`timeseriesBucketsMayHaveMixedSchemaData`). */
  mixesSchemas = false;
  #target: EntryNamespace;
  #options: Doc;

  constructor(
    namespace: string,
    readonly uuid: Binary,
    options: Doc,
    idIndexDefinition: IndexDefinition,
    readonly collation: Collation | undefined,
    createdAt: TimeKey,
    private readonly history: History,
    /** Whether reads of it need an index (`notablescan`). */
    readonly scans: { readonly refused: boolean } = { refused: false },
  ) {
    this.idIndex = new CollectionIndex(idIndexDefinition, true, history, createdAt);
    this.minimumVisibleTime = createdAt;
    this.#options = options;
    this.#target = { ...splitNamespace(namespace), uuid, shardKey: undefined, preImages: keepsPreImages(options) };
  }

  /** Creation options as in `listCollections`. */
  get options(): Doc {
    return this.#options;
  }

  set options(options: Doc) {
    this.#options = options;
    this.#target = { ...this.#target, preImages: keepsPreImages(options) };
  }

  /** The collection as oplog entries name it. */
  get target(): EntryNamespace {
    return this.#target;
  }

  get namespace(): string {
    return `${this.#target.db}.${this.#target.collection}`;
  }

  get db(): string {
    return this.#target.db;
  }

  get name(): string {
    return this.#target.collection;
  }

  rename(namespace: string, time: TimeKey): void {
    this.#target = { ...this.#target, ...splitNamespace(namespace) };
    this.minimumVisibleTime = time;
  }

  /** @param paths the shard key's paths in key order; undefined when the collection is not sharded */
  setShardKey(paths: readonly string[] | undefined): void {
    this.#target = { ...this.#target, shardKey: paths };
  }

  /** All indexes, `_id_` first. */
  get indexes(): CollectionIndex[] {
    return [this.idIndex, ...this.secondaryIndexes];
  }

  /** Those that lists show: buckets lie in the order of `_id` without an index for it. */
  get listedIndexes(): CollectionIndex[] {
    return this.#options.get('clusteredIndex') === true ? this.secondaryIndexes : this.indexes;
  }

  /** The indexes at a time, in the order of their creation. The current ones for `LATEST`. */
  indexesAt(time: TimeKey): CollectionIndex[] {
    if (time === LATEST) return this.indexes;
    const were = ({ lived: { from, to } }: CollectionIndex): boolean => (from <= time || from === PENDING) && time < to;
    return [this.idIndex, ...[...this.#droppedIndexes, ...this.secondaryIndexes].filter(were)];
  }

  idKeyOf(bytes: Uint8Array): string {
    return idKeyText(scanPath(bytes, '_id') ?? null, this.collation);
  }

  recordById(id: Value, view: ReadView): DocumentRecord | null {
    return this.idIndex.lookup(idKeyText(id, this.collation), view);
  }

  /** Stores a document. @throws CommandError 11000, or HeldByTransaction */
  insert(bytes: Uint8Array, unit: WriteUnit): DocumentRecord {
    const idKey = this.idKeyOf(bytes);
    this.#refuseDuplicate(this.idIndex, idKey, bytes, unit, null);
    const keys = this.secondaryIndexes.map((index) =>
      index.canWait(unit) ? undefined : this.#newKeys(index, bytes, unit, null),
    );
    const record = this.records.append(bytes, unit.time, unit.transaction);
    if (unit.transaction === null) this.#count(1, bytes.length);
    else {
      unit.transaction.add({
        commit: (time) => {
          record.time = time;
          record.transaction = null;
          this.#count(1, bytes.length);
        },
        rollBack: () => this.records.remove(record),
      });
    }
    this.idIndex.add(idKey, record, unit);
    this.secondaryIndexes.forEach((index, at) => {
      const own = keys[at];
      if (own === undefined) index.addLater(record);
      else for (const key of own) index.add(key, record, unit);
    });
    return record;
  }

  /** Replaces a document's bytes. `_id` must be the same. @throws CommandError 11000, or HeldByTransaction */
  update(record: DocumentRecord, bytes: Uint8Array, unit: WriteUnit): void {
    refuseHeld(record, unit);
    for (const index of this.secondaryIndexes) index.addWaiting();
    const before = visibleBytes(record, { time: LATEST, transaction: unit.transaction });
    const changes = this.secondaryIndexes.map((index) => {
      const oldKeys = before === null ? [] : index.keysOf(before);
      const newKeys = index.keysOf(bytes);
      const added = newKeys.filter((key) => !oldKeys.includes(key));
      for (const key of added) this.#refuseDuplicate(index, key, bytes, unit, record);
      index.note(bytes, newKeys);
      return { index, added, removed: oldKeys.filter((key) => !newKeys.includes(key)) };
    });
    this.#supersede(record, bytes, unit, bytes.length - (before?.length ?? 0), 0);
    for (const { index, added, removed } of changes) {
      for (const key of removed) index.remove(key, record, unit);
      for (const key of added) index.add(key, record, unit);
    }
  }

  /** Removes a document. @throws HeldByTransaction */
  delete(record: DocumentRecord, unit: WriteUnit): void {
    refuseHeld(record, unit);
    for (const index of this.secondaryIndexes) index.addWaiting();
    const before = visibleBytes(record, { time: LATEST, transaction: unit.transaction });
    if (before === null) return;
    this.#supersede(record, null, unit, -before.length, -1);
    this.idIndex.remove(this.idKeyOf(before), record, unit);
    for (const index of this.secondaryIndexes) {
      for (const key of index.keysOf(before)) index.remove(key, record, unit);
    }
  }

  /** Builds an index over the existing documents. @throws CommandError 11000 that names the smallest shared key */
  addIndex(definition: IndexDefinition, time: TimeKey): void {
    const index = new CollectionIndex(definition, false, this.history, time);
    const unit: WriteUnit = { time, transaction: null };
    for (const record of this.records.ascend()) {
      const bytes = visibleBytes(record, NOW);
      if (bytes === null) continue;
      const keys = index.keysOf(bytes);
      index.note(bytes, keys);
      for (const key of keys) index.add(key, record, unit);
    }
    const [shared] = refusesDuplicates(definition) ? index.duplicates() : [];
    if (shared !== undefined) throw this.#duplicateKey(index, shared.key, shared.documents[0]);
    this.secondaryIndexes.push(index);
    this.minimumVisibleTime = time;
  }

  /** Drops an index, which earlier times can still read. */
  dropIndex(index: CollectionIndex, time: TimeKey): void {
    this.secondaryIndexes.splice(this.secondaryIndexes.indexOf(index), 1);
    index.lived.to = time;
    this.minimumVisibleTime = time;
    this.#droppedIndexes.add(index);
    this.history.retire(time, 0, () => this.#droppedIndexes.delete(index));
  }

  /** The oldest document of a capped collection beyond its limits. Null within them, and for a single one. */
  oldestBeyondCap(): { record: DocumentRecord; bytes: Uint8Array } | null {
    const { cap } = this;
    if (cap === undefined || this.documentCount <= 1) return null;
    if (this.documentCount <= cap.documentsMax && this.documentBytes <= cap.bytesMax) return null;
    for (const record of this.records.ascend()) {
      const bytes = visibleBytes(record, NOW);
      if (bytes !== null) return { record, bytes };
    }
    return null;
  }

  #newKeys(index: CollectionIndex, bytes: Uint8Array, unit: WriteUnit, except: DocumentRecord | null): string[] {
    const keys = index.keysOf(bytes);
    index.note(bytes, keys);
    for (const key of keys) this.#refuseDuplicate(index, key, bytes, unit, except);
    return keys;
  }

  #refuseDuplicate(
    index: CollectionIndex,
    key: string,
    bytes: Uint8Array,
    unit: WriteUnit,
    except: DocumentRecord | null,
  ): void {
    if (refusesDuplicates(index.definition) && index.duplicateOf(key, unit, except) !== null)
      throw this.#duplicateKey(index, key, bytes);
  }

  #duplicateKey(index: CollectionIndex, key: string, bytes: Uint8Array): CommandError {
    const rows = keyValuesOf(bytes, index.definition.fields, index.definition.sparse);
    return duplicateKey(this.namespace, index.definition, rows[index.keysOf(bytes).indexOf(key)] ?? rows[0] ?? []);
  }

  #supersede(
    record: DocumentRecord,
    bytes: Uint8Array | null,
    unit: WriteUnit,
    byteChange: number,
    countChange: number,
  ): void {
    const older = record.newest;
    const version = new Version(bytes, unit.time, unit.transaction, older);
    record.newest = version;
    const settled = (time: TimeKey): void => {
      version.time = time;
      this.#count(countChange, byteChange);
      this.history.retire(time, older.bytes?.length ?? 0, () => {
        version.forgetOlder();
        if (bytes === null && record.newest === version) this.records.remove(record);
      });
    };
    if (unit.transaction === null) {
      settled(unit.time);
      return;
    }
    unit.transaction.add({
      commit: (time) => {
        version.transaction = null;
        settled(time);
      },
      rollBack: () => {
        record.newest = older;
      },
    });
  }

  #count(documents: number, bytes: number): void {
    this.documentCount += documents;
    this.documentBytes += bytes;
  }
}

function refuseHeld(record: DocumentRecord, unit: WriteUnit): void {
  const { transaction } = record.newest;
  if (transaction !== null && heldByAnother(record, unit.transaction)) throw new HeldByTransaction(transaction);
  if (unit.transaction !== null && record.newest.time !== PENDING && record.newest.time > unit.transaction.readTime) {
    throw new HeldByTransaction(unit.transaction);
  }
}

/** True when changes store pre-images: `changeStreamPreAndPostImages` since 6.0, `recordPreImages` before. */
function keepsPreImages(options: Doc): boolean {
  const images = options.get('changeStreamPreAndPostImages');
  return options.get('recordPreImages') === true || (images instanceof Map && images.get('enabled') === true);
}

function refusesDuplicates({ unique, prepareUnique }: IndexDefinition): boolean {
  return unique || prepareUnique;
}

/** The error of a second document under a unique key, with `keyPattern` and `keyValue` as the server gives them. */
function duplicateKey(namespace: string, index: IndexDefinition, values: readonly Value[]): CommandError {
  const keyValue: Doc = new Map(index.fields.map((field, at) => [field.path, values[at] ?? null]));
  const collation = index.spec.get('collation');
  const under = collation instanceof Map ? ` collation: ${documentText(collation)}` : '';
  return new CommandError(
    11000,
    'DuplicateKey',
    `E11000 duplicate key error collection: ${namespace} index: ${index.name}${under} dup key: ` +
      documentText(keyValue),
    [],
    new Map<string, Value>([
      ['keyPattern', index.spec.get('key') ?? new Map()],
      ['keyValue', keyValue],
    ]),
  );
}
