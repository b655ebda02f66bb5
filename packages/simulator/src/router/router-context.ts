import { typeName } from '../bson/type-of.js';
import type { ClusterShard } from '../config/cluster-shard.js';
import type { DatabaseEntry } from '../config/database-entry.js';
import type { ShardingCatalog } from '../config/sharding-catalog.js';
import type { ClusterClock } from '../node/clock.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { databaseOf } from '../node/namespace.js';
import type { Deployment } from '../node/deployment.js';
import type { NodeRelease } from '../node/node-release.js';
import type { ServerVersion } from '../node/server-version.js';
import type { RouterCursors } from './read/router-cursors.js';
import type { RouterTransactions } from './router-transactions.js';
import type { RoutingTable } from './target/routing-table.js';
import type { ShardSender } from './target/shard-sender.js';

/** Databases whose collections live on the config server. */
const configDatabases: ReadonlySet<string> = new Set(['config', 'admin']);

/** What the commands of a router use. */
export class RouterContext {
  constructor(
    readonly catalog: ShardingCatalog,
    readonly clock: ClusterClock,
    readonly sender: ShardSender,
    readonly cursors: RouterCursors,
    readonly transactions: RouterTransactions,
    readonly configShard: ClusterShard,
    readonly deployment: Deployment,
    /** Its release. */
    readonly release: NodeRelease,
    /** What this router knows of the cluster. DDL commands use the catalog itself. */
    readonly routing: RoutingTable,
  ) {}

  /** The release of its program. */
  get version(): ServerVersion {
    return this.release.binary;
  }

  /** The shards and the config server, which may be one of them. */
  get members(): ClusterShard[] {
    return [...new Set([...this.catalog.shards, this.configShard])];
  }

  /** The shard of an unsharded namespace, as far as this router knows. */
  routedPrimaryOf(namespace: string): ClusterShard | undefined {
    const db = databaseOf(namespace);
    if (configDatabases.has(db)) return this.configShard;
    const moved = this.catalog.movedTo(namespace);
    if (moved !== undefined) return this.catalog.shard(moved);
    const entry = this.routing.database(db);
    return entry === undefined ? undefined : this.catalog.shard(entry.primary);
  }

  /** The same. Creates a missing database. */
  async routedPrimaryForWrite(namespace: string): Promise<ClusterShard> {
    return this.routedPrimaryOf(namespace) ?? this.primaryForWrite(namespace);
  }

  /** The shard of an unsharded namespace; undefined when its database does not exist. */
  primaryOf(namespace: string): ClusterShard | undefined {
    const db = databaseOf(namespace);
    if (configDatabases.has(db)) return this.configShard;
    const holder = this.catalog.movedTo(namespace) ?? this.catalog.database(db)?.primary;
    return holder === undefined ? undefined : this.catalog.shard(holder);
  }

  /** The same. Creates a missing database. */
  async primaryForWrite(namespace: string): Promise<ClusterShard> {
    const db = databaseOf(namespace);
    if (configDatabases.has(db)) return this.configShard;
    if (this.catalog.database(db) === undefined) await this.configShard.node.ready(new AbortController().signal);
    const entry = await this.catalog.createDatabase(db, false);
    return this.catalog.shard(this.catalog.movedTo(namespace) ?? entry.primary);
  }

  /** @throws CommandError 26 when the database does not exist */
  requireDatabase(name: string): DatabaseEntry {
    const entry = this.catalog.database(name);
    if (entry === undefined) throw new CommandError(26, 'NamespaceNotFound', `database ${name} not found`);
    return entry;
  }

  shardsOf(ids: readonly string[]): ClusterShard[] {
    return ids.map((id) => this.catalog.shard(id));
  }

  /**
   * The shards that hold a collection: the owners of its chunks, or the primary. None when the database does not exist.
   */
  holdersOf(namespace: string): ClusterShard[] {
    const collection = this.catalog.collection(namespace);
    if (collection !== undefined) return this.shardsOf(collection.chunks.shards);
    const primary = this.primaryOf(namespace);
    return primary === undefined ? [] : [primary];
  }
}

/** The namespace of a command: its database and the value of its first field. */
export function commandNamespace(request: CommandRequest): string {
  return `${request.db}.${commandCollection(request)}`;
}

/** @throws CommandError 73 when the command's first field is no collection name */
export function commandCollection(request: CommandRequest): string {
  const name = request.body.get(request.name);
  if (typeof name !== 'string') {
    throw new CommandError(73, 'InvalidNamespace', `collection name has invalid type ${typeName(name)}`);
  }
  return name;
}
