import { Binary } from 'bson';
import { randomBytes } from 'node:crypto';
import { parseCollation } from '../../bson/collation.js';
import type { Doc, Value } from '../../bson/value.js';
import { numberOf } from '../../node/doc-fields.js';
import { clusteredIndexSpec } from '../index-spec/clustered.js';
import { idIndexDefinition, idIndexSpec } from '../index-spec/definition.js';
import { Collection } from './collection.js';
import type { History } from './history.js';
import type { TimeKey } from './time-key.js';

/** A view, or the view in front of a time-series collection's buckets. */
export interface View {
  readonly namespace: string;
  readonly viewOn: string;
  readonly pipeline: Value[];
  /** As `listCollections` shows them. */
  readonly options: Doc;
  readonly type: 'view' | 'timeseries';
}

/** All collections and views of one shard. */
export class Catalog {
  readonly #collections = new Map<string, Collection>();
  readonly #byUuid = new Map<string, Collection>();
  readonly #views = new Map<string, View>();
  readonly #shardKeys = new Map<string, readonly string[]>();

  constructor(private readonly history: History) {}

  collection(namespace: string): Collection | undefined {
    return this.#collections.get(namespace);
  }

  collectionByUuid(uuid: Binary): Collection | undefined {
    return this.#byUuid.get(uuid.toString('hex'));
  }

  view(namespace: string): View | undefined {
    return this.#views.get(namespace);
  }

  collectionsOf(db: string): Collection[] {
    return [...this.#collections.values()].filter((collection) => collection.db === db);
  }

  viewsOf(db: string): View[] {
    return [...this.#views.values()].filter((view) => view.namespace.startsWith(`${db}.`));
  }

  databaseNames(): string[] {
    const names = new Set([...this.#collections.values()].map((collection) => collection.db));
    return [...names].sort();
  }

  /** @param options as `listCollections` shows them */
  addCollection(namespace: string, options: Doc, createdAt: TimeKey, uuid: Binary = makeUuid()): Collection {
    const collationSpec = options.get('collation');
    const collation = collationSpec instanceof Map ? parseCollation(collationSpec) : undefined;
    const clustered = options.get('clusteredIndex');
    const idSpec = clustered instanceof Map ? clusteredIndexSpec(clustered) : idIndexSpec();
    const idIndex = idIndexDefinition(idSpec, collationSpec instanceof Map ? collationSpec : undefined, collation);
    const collection = new Collection(namespace, uuid, options, idIndex, collation, createdAt, this.history);
    if (options.get('capped') === true) {
      collection.cap = {
        bytesMax: numberOf(options.get('size')) ?? Infinity,
        documentsMax: numberOf(options.get('max')) ?? Infinity,
      };
    }
    collection.setShardKey(this.#shardKeys.get(namespace));
    this.#collections.set(namespace, collection);
    this.#byUuid.set(uuid.toString('hex'), collection);
    return collection;
  }

  /** Remembers how a namespace is sharded, also for a collection that is still to come. */
  setShardKey(namespace: string, paths: readonly string[] | undefined): void {
    if (paths === undefined) this.#shardKeys.delete(namespace);
    else this.#shardKeys.set(namespace, paths);
    this.#collections.get(namespace)?.setShardKey(paths);
  }

  removeCollection(collection: Collection): void {
    this.#collections.delete(collection.namespace);
    this.#byUuid.delete(collection.uuid.toString('hex'));
  }

  renameCollection(collection: Collection, to: string, time: TimeKey): void {
    this.#collections.delete(collection.namespace);
    collection.rename(to, time);
    this.#collections.set(to, collection);
  }

  addView(view: View): void {
    this.#views.set(view.namespace, view);
  }

  removeView(namespace: string): void {
    this.#views.delete(namespace);
  }
}

/** A random UUID, version 4. */
export function makeUuid(): Binary {
  const bytes = randomBytes(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return new Binary(bytes, Binary.SUBTYPE_UUID);
}
