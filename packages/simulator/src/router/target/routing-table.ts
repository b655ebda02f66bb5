import type { ShardedCollection } from '../../config/sharded-collection.js';
import type { DatabaseEntry } from '../../config/database-entry.js';
import type { ShardingCatalog } from '../../config/sharding-catalog.js';
import { databaseOf } from '../../node/namespace.js';

/** Bound of the namespaces in a routing table. Beyond it the table starts empty. */
const namespacesMax = 10_000;

/** The routing by which a command chose its shards. */
export interface RoutingPicture {
  readonly namespace: string;
  /** Undefined for a namespace that counted as unsharded. */
  readonly collection: ShardedCollection | undefined;
}

/**
 * What one router knows of the cluster, as of its last refresh. It refreshes only when a shard reports stale routing,
 * when the router itself has changed something, or on `flushRouterConfig`.
 */
export class RoutingTable {
  readonly #collections = new Map<string, ShardedCollection | undefined>();
  readonly #databases = new Map<string, DatabaseEntry>();

  constructor(private readonly catalog: ShardingCatalog) {}

  /** The sharded collection of this name. Undefined for one that counts as unsharded. */
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

  /** The database's entry. A missing one is looked up each time. */
  database(name: string): DatabaseEntry | undefined {
    const known = this.#databases.get(name);
    if (known !== undefined) return known;
    const present = this.catalog.database(name);
    if (present !== undefined) this.#databases.set(name, present);
    return present;
  }

  /** Drops what is known of a namespace and its database, so that it is looked up again. */
  forget(namespace: string): void {
    this.#collections.delete(namespace);
    this.#databases.delete(databaseOf(namespace));
  }

  /** Drops a database with all its collections. */
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
