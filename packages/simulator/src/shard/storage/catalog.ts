import { Binary } from 'bson';
import { makeUuid } from '../../bson/uuid.js';
import { parseCollation } from '../../bson/collation.js';
import type { Doc, Value } from '../../bson/value.js';
import { numberOf } from '../../node/doc-fields.js';
import { databaseInOtherCase, opensInOtherCase } from '../../node/other-case.js';
import { idIndexDefinition, idIndexSpec } from '../index-spec/definition.js';
import { Collection } from './collection.js';
import type { History } from './history.js';
import { NameHistory } from './name-history.js';
import type { TimeKey } from './time-key.js';
import type { Transaction } from './transaction.js';

/** A view, or the view in front of a time-series collection's buckets. */
export interface View {
  readonly namespace: string;
  readonly viewOn: string;
  readonly pipeline: Value[];
  /** As in `listCollections`. */
  readonly options: Doc;
  readonly type: 'view' | 'timeseries';
}

/** Collections that a running transaction has created, by namespace. */
export type CreatedCollections = Map<string, Collection>;

/** All collections and views of one shard. */
export class Catalog {
  readonly #collections: Map<string, Collection>;
  readonly #byUuid: Map<string, Collection>;
  readonly #names: NameHistory;
  readonly #views: Map<string, View>;
  readonly #shardKeys: Map<string, readonly string[]>;
  /** Databases that have had a collection since their last drop. */
  readonly #opened: Set<string>;
  /** Whether reads need an index (`notablescan`). */
  readonly scans: { refused: boolean };

  /**
   * @param base the catalog of the shard, of which this one is a transaction's own view
   * @param transaction the transaction and its created collections
   */
  constructor(
    private readonly history: History,
    private readonly base?: Catalog,
    private readonly transaction?: { readonly storage: Transaction; readonly created: CreatedCollections },
  ) {
    this.#collections = base === undefined ? new Map<string, Collection>() : base.#collections;
    this.#byUuid = base === undefined ? new Map<string, Collection>() : base.#byUuid;
    this.#names = base === undefined ? new NameHistory(history) : base.#names;
    this.#views = base === undefined ? new Map<string, View>() : base.#views;
    this.#shardKeys = base === undefined ? new Map<string, readonly string[]>() : base.#shardKeys;
    this.#opened = base === undefined ? new Set<string>() : base.#opened;
    this.scans = base === undefined ? { refused: false } : base.scans;
  }

  /** The catalog as a transaction sees it: with the collections that it has created. */
  within(transaction: { readonly storage: Transaction; readonly created: CreatedCollections }): Catalog {
    return new Catalog(this.history, this, transaction);
  }

  /** The catalog as others see it: without what this transaction has created. */
  outside(): Catalog {
    return this.base ?? this;
  }

  collection(namespace: string): Collection | undefined {
    return this.transaction?.created.get(namespace) ?? this.#collections.get(namespace);
  }

  collectionByUuid(uuid: Binary): Collection | undefined {
    const key = uuid.toString('hex');
    const own = [...(this.transaction?.created.values() ?? [])].find(
      (collection) => collection.uuid.toString('hex') === key,
    );
    return own ?? this.#byUuid.get(key);
  }

  /** The collection under a name at a time. */
  collectionAt(namespace: string, time: TimeKey): Collection | undefined {
    return this.#names.named(namespace, time);
  }

  /** The collection with a UUID at a time, and its name of then. Includes dropped ones. */
  placeByUuidAt(
    uuid: Binary,
    time: TimeKey,
  ): { readonly collection: Collection; readonly namespace: string } | undefined {
    return this.#names.withUuid(uuid.toString('hex'), time);
  }

  view(namespace: string): View | undefined {
    if (this.transaction?.created.has(namespace) === true) return undefined;
    return this.#views.get(namespace);
  }

  collectionsOf(db: string): Collection[] {
    return [...this.#collections.values()].filter((collection) => collection.db === db);
  }

  viewsOf(db: string): View[] {
    return [...this.#views.values()].filter((view) => view.namespace.startsWith(`${db}.`));
  }

  /** A database exists from its first collection until its drop, even without any. */
  hasDatabase(db: string): boolean {
    return this.#opened.has(db);
  }

  /** Opens a database for a command that failed to create a collection in it. */
  openDatabase(db: string): void {
    this.#opened.add(db);
  }

  removeDatabase(db: string): void {
    this.#opened.delete(db);
  }

  databaseNames(): string[] {
    const names = new Set([...this.#collections.values()].map((collection) => collection.db));
    return [...names].sort();
  }

  /**
   * @param options as `listCollections` shows them
   * @throws CommandError 13297 beside a database whose name differs in case alone
   */
  addCollection(namespace: string, options: Doc, createdAt: TimeKey, uuid: Binary = makeUuid()): Collection {
    const collection = this.scratchCollection(namespace, options, createdAt, uuid);
    const other = this.#opened.has(collection.db) ? undefined : databaseInOtherCase(collection.db, this.#opened);
    if (other !== undefined) throw opensInOtherCase(collection.db, other);
    collection.setShardKey(this.#shardKeys.get(namespace));
    if (this.transaction === undefined) this.#publish(collection, createdAt);
    else this.#addCreated(collection, this.transaction);
    return collection;
  }

  /** A collection outside of the catalog. */
  scratchCollection(namespace: string, options: Doc, createdAt: TimeKey, uuid: Binary = makeUuid()): Collection {
    const collationSpec = options.get('collation');
    const collation = collationSpec instanceof Map ? parseCollation(collationSpec) : undefined;
    const clustered = options.get('clusteredIndex');
    const idSpec = clustered instanceof Map ? clusteredIndexSpec(clustered) : idIndexSpec();
    const idIndex = idIndexDefinition(idSpec, collationSpec instanceof Map ? collationSpec : undefined, collation);
    const collection = new Collection(
      namespace,
      uuid,
      options,
      idIndex,
      collation,
      createdAt,
      this.history,
      this.scans,
    );
    if (options.get('capped') === true) {
      collection.cap = {
        bytesMax: numberOf(options.get('size')) ?? Infinity,
        documentsMax: numberOf(options.get('max')) ?? Infinity,
      };
    }
    return collection;
  }

  #publish(collection: Collection, time: TimeKey): void {
    this.#names.begin(collection, time);
    this.#opened.add(collection.db);
    this.#collections.set(collection.namespace, collection);
    this.#byUuid.set(collection.uuid.toString('hex'), collection);
  }

  #addCreated(
    collection: Collection,
    { storage, created }: { readonly storage: Transaction; readonly created: CreatedCollections },
  ): void {
    created.set(collection.namespace, collection);
    storage.add({
      commit: (time) => {
        collection.minimumVisibleTime = time;
        this.#publish(collection, time);
      },
      rollBack: () => {
        created.delete(collection.namespace);
      },
    });
  }

  /** Records how a namespace is sharded, even before its collection exists. */
  setShardKey(namespace: string, paths: readonly string[] | undefined): void {
    if (paths === undefined) this.#shardKeys.delete(namespace);
    else this.#shardKeys.set(namespace, paths);
    this.#collections.get(namespace)?.setShardKey(paths);
  }

  removeCollection(collection: Collection, time: TimeKey): void {
    this.#names.end(collection, time);
    this.#collections.delete(collection.namespace);
    this.#byUuid.delete(collection.uuid.toString('hex'));
  }

  renameCollection(collection: Collection, to: string, time: TimeKey): void {
    this.#collections.delete(collection.namespace);
    this.#names.end(collection, time);
    collection.rename(to, time);
    this.#names.begin(collection, time);
    this.#collections.set(to, collection);
  }

  addView(view: View): void {
    this.#views.set(view.namespace, view);
  }

  removeView(namespace: string): void {
    this.#views.delete(namespace);
  }
}

/** The description of a clustered index in `listIndexes`. @param option the collection's `clusteredIndex` */
function clusteredIndexSpec(option: Doc): Doc {
  return new Map([...option, ['clustered', true]]);
}
