import type { ShardedCollection } from '../../config/sharded-collection.js';
import type { DatabaseEntry } from '../../config/database-entry.js';
import type { ShardingCatalog } from '../../config/sharding-catalog.js';
import { databaseOf } from '../../node/namespace.js';

/** Namespaces a router remembers; beyond it everything is looked up anew. */
const namespacesMax = 10_000;

/** The picture by which a command chose its shards. */
export interface RoutingPicture {
  readonly namespace: string;
  /** Undefined for a namespace that was taken to be unsharded. */
  readonly collection: ShardedCollection | undefined;
}

/**
 * What one router knows of the cluster, as of the last time it looked. It looks again only when a shard tells that the
 * picture is stale, when the router itself has changed something, or on `flushRouterConfig`.
 */
export class RoutingTable {
  readonly #collections = new Map<string, ShardedCollection | undefined>();
  readonly #databases = new Map<string, DatabaseEntry>();

  constructor(private readonly catalog: ShardingCatalog) {}

  /** The sharded collection of this name; undefined for one that is taken to be unsharded. */
  collection(namespace: string): ShardedCollection | undefined {
    if (this.#collections.has(namespace)) return this.#collections.get(namespace);
    const present = this.catalog.collection(namespace);
    if (this.#collections.size >= namespacesMax) this.#collections.clear();
    this.#collections.set(namespace, present);
    return present;
  }

  picture(namespace: string): RoutingPicture {
    return { namespace, collection: this.collection(namespace) };
  }

  /** The database's entry; one that does not exist is looked for each time. */
  database(name: string): DatabaseEntry | undefined {
    const known = this.#databases.get(name);
    if (known !== undefined) return known;
    const present = this.catalog.database(name);
    if (present !== undefined) this.#databases.set(name, present);
    return present;
  }

  /** Forgets what is known of a namespace and its database, so that it is looked up anew. */
  forget(namespace: string): void {
    this.#collections.delete(namespace);
    this.#databases.delete(databaseOf(namespace));
  }

  /** Forgets a database with all its collections. */
  forgetDatabase(name: string): void {
    for (const namespace of this.#collections.keys())
      if (databaseOf(namespace) === name) this.#collections.delete(namespace);
    this.#databases.delete(name);
  }

  clear(): void {
    this.#collections.clear();
    this.#databases.clear();
  }
}
