import type { Timestamp } from 'bson';
import { compareTimestamps } from '../../bson/compare.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { ChunkMap } from '../../config/chunk-map.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import type { ShardKeyPattern } from '../../config/shard-key.js';
import type { ShardingCatalog } from '../../config/sharding-catalog.js';
import { CommandError, type RoutedAccess } from '../../node/command.js';
import { databaseOf } from '../../node/namespace.js';
import type { RoutingPicture } from './routing-table.js';
import { timeText } from '../../shard/storage/time-key.js';
import { staleConfigError, staleDatabaseError } from './stale-routing.js';

/** Databases whose collections live on the config server. */
const configDatabases: ReadonlySet<string> = new Set(['config', 'admin']);

/** How a command chose its shard. */
interface SentBy {
  /** Cluster time of a snapshot read. */
  readonly time?: Timestamp | undefined;
  /** Cluster time at which a transaction reads. */
  readonly transactionTime?: Timestamp | undefined;
  /** The routing that the router used. Undefined for commands that go to a shard whatever it owns. */
  readonly picture?: RoutingPicture | undefined;
}

/**
 * Which documents a shard owns, as of the command or at a cluster time. Accepts everything where no chunk has moved. A
 * cursor keeps the ownership of the command that opened it, as the server's cursors do.
 */
export class ShardOwnership implements RoutedAccess {
  readonly #owned = new Map<string, ShardedCollection | undefined>();
  /** Collections of which the shard owned every document at the first check. */
  readonly #whole = new Set<ShardedCollection>();

  constructor(
    private readonly catalog: ShardingCatalog,
    private readonly shard: ClusterShard,
    private readonly by: SentBy,
  ) {
    const namespace = by.picture?.namespace;
    if (namespace !== undefined) this.#collection(namespace);
  }

  owns(namespace: string, document: Uint8Array): boolean {
    const collection = this.#collection(namespace);
    if (collection === undefined) return true;
    const { time } = this.by;
    if (time !== undefined) {
      if (!collection.chunks.chunks.some((chunk) => chunk.history.length > 1)) return true;
      return this.#isOwner(collection.chunks.at(time), collection.key, document);
    }
    const unmoved = this.#whole.has(collection) && this.catalog.collection(namespace)?.chunks === collection.chunks;
    return unmoved || this.#isOwner(collection.chunks, collection.key, document);
  }

  takes(namespace: string, document: Uint8Array): boolean {
    const collection = this.#collection(namespace);
    return collection === undefined || this.#isOwner(collection.chunks, collection.key, document);
  }

  /**
   * Compares the router's routing with the shard's ownership.
   * @throws CommandError 13388 or 249 when the router must refresh; 272 when a transaction reads at a time before the
   * shard received a chunk, or anything at one before the database was created
   */
  refuseStale(): void {
    const { picture } = this.by;
    if (picture === undefined) return;
    const present = this.catalog.collection(picture.namespace);
    if (present === undefined && picture.collection === undefined) {
      this.#refuseMovedDatabase(picture.namespace);
      this.#refuseTimeBefore(picture.namespace);
    } else if (present !== picture.collection && !this.#sameVersion(present, picture.collection)) {
      throw staleConfigError(picture.namespace, this.shard.id);
    }
    this.#refuseLaterChunks(present);
  }

  #collection(namespace: string): ShardedCollection | undefined {
    if (this.#owned.has(namespace)) return this.#owned.get(namespace);
    const present = this.catalog.collection(namespace);
    this.#owned.set(namespace, present);
    if (present !== undefined && !this.shard.mayHaveOrphans(present)) this.#whole.add(present);
    return present;
  }

  #refuseMovedDatabase(namespace: string): void {
    const name = databaseOf(namespace);
    if (configDatabases.has(name)) return;
    const holder = this.catalog.movedTo(namespace) ?? this.catalog.database(name)?.primary;
    if (holder !== this.shard.id) throw staleDatabaseError(name, this.shard.id);
  }

  /** Seen on 8.0.10, whose shards compare the time of a read with that of the version of the database. */
  #refuseTimeBefore(namespace: string): void {
    const name = databaseOf(namespace);
    const created = this.catalog.database(name)?.timestamp;
    const { time } = this.by;
    if (!this.catalog.version.atLeast(8, 0) || configDatabases.has(name)) return;
    if (time === undefined || created === undefined || compareTimestamps(time, created) >= 0) return;
    throw new CommandError(
      272,
      'MigrationConflict',
      `Database ${name} has undergone a catalog change operation at time ${timeText(created)} and no longer ` +
        `satisfies the requirements for the current transaction which requires ${timeText(time)}. Transaction will ` +
        'be aborted.',
    );
  }

  #sameVersion(present: ShardedCollection | undefined, known: ShardedCollection | undefined): boolean {
    if (present === undefined || known === undefined || !present.epoch.equals(known.epoch)) return false;
    return compareTimestamps(present.chunks.version(this.shard.id), known.chunks.version(this.shard.id)) === 0;
  }

  #refuseLaterChunks(collection: ShardedCollection | undefined): void {
    const time = this.by.transactionTime;
    if (collection === undefined || time === undefined || collection.chunks.unmovedSince(this.shard.id, time)) return;
    const message = `Transaction ${collection.namespace} reads at a time before a chunk was moved to ${this.shard.id}`;
    throw new CommandError(272, 'MigrationConflict', message);
  }

  #isOwner(chunks: ChunkMap, key: ShardKeyPattern, document: Uint8Array): boolean {
    return chunks.holderOf(key.keyOf(document)) === this.shard.id;
  }
}
