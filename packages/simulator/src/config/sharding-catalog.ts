import { ObjectId } from 'bson';
import { makeUuid } from '../bson/uuid.js';
import type { Doc } from '../bson/value.js';
import type { ClusterClock } from '../node/clock.js';
import { CommandError } from '../node/command.js';
import { doc } from '../node/doc-fields.js';
import { databaseOf } from '../node/namespace.js';
import type { NodeRelease } from '../node/node-release.js';
import { databaseInOtherCase, differsInCase } from '../node/other-case.js';
import { defaultVersion, type ServerVersion } from '../node/server-version.js';
import type { ClusterShard } from './cluster-shard.js';
import { ConfigStore } from './config-store.js';
import type { DatabaseEntry } from './database-entry.js';
import * as documents from './metadata-documents.js';
import { Reshardings } from './reshardings.js';
import type { ShardedCollection } from './sharded-collection.js';
import { type ZoneRange, ZoneRanges } from './zone.js';

/**
 * The catalog of shards, databases, sharded collections and zones. In memory, written through to the config database.
 */
export class ShardingCatalog {
  readonly #databases = new Map<string, DatabaseEntry>();
  readonly #collections = new Map<string, ShardedCollection>();
  readonly #shards = new Map<string, ClusterShard>();
  /** Unsharded collections that were moved: entries of one chunk (`unsplittable`, 8.0). */
  readonly #moved = new Map<string, ShardedCollection>();
  readonly #zones = new ZoneRanges();
  readonly reshardings: Reshardings;

  constructor(
    readonly store: ConfigStore,
    readonly clock: ClusterClock,
    /** The release of the config server. */
    private readonly release: Pick<NodeRelease, 'binary'> = { binary: defaultVersion },
    readonly clusterId: ObjectId = new ObjectId(),
  ) {
    this.reshardings = new Reshardings(store, () => this.version.atLeast(8, 0));
  }

  /** The release whose form the metadata has. */
  get version(): ServerVersion {
    return this.release.binary;
  }

  /** Shards in the order of their ids. */
  get shards(): readonly ClusterShard[] {
    return [...this.#shards.values()];
  }

  /** @throws CommandError 70 when there is no such shard */
  shard(id: string): ClusterShard {
    const shard = this.#shards.get(id);
    if (shard === undefined) throw new CommandError(70, 'ShardNotFound', `Shard ${id} does not exist`);
    return shard;
  }

  async initialize(shards: readonly ClusterShard[]): Promise<void> {
    await this.store.put('version', documents.versionDocument(this.version, this.clusterId));
    for (const shard of shards) {
      this.#shards.set(shard.id, shard);
      await this.saveShard(shard);
    }
  }

  async addShard(shard: ClusterShard): Promise<void> {
    await this.saveShard(shard);
    this.#shards.set(shard.id, shard);
    for (const { namespace, key } of this.#collections.values()) shard.stored.setShardKey(namespace, key.doc);
  }

  async removeShard(shard: ClusterShard): Promise<void> {
    this.#shards.delete(shard.id);
    await this.store.remove('shards', doc(['_id', shard.id]));
  }

  async saveShard(shard: ClusterShard): Promise<void> {
    await this.store.put('shards', documents.shardDocument(this.version, shard));
  }

  get databases(): readonly DatabaseEntry[] {
    return [...this.#databases.values()];
  }

  database(name: string): DatabaseEntry | undefined {
    return this.#databases.get(name);
  }

  /** Stores the config server's note of the shards' block (server source: SetUserWriteBlockModeCoordinator). */
  async noteWriteBlock(note: Doc | undefined): Promise<void> {
    if (note === undefined) await this.store.remove('user_writes_critical_sections', doc());
    else await this.store.put('user_writes_critical_sections', note);
  }

  /**
   * The database's entry. A missing one is created on the requested shard, or on the shard with the fewest bytes.
   * @throws CommandError 13297 beside one whose name differs in case alone
   */
  async createDatabase(name: string, partitioned: boolean, primary?: string): Promise<DatabaseEntry> {
    const present = this.#databases.get(name);
    if (present !== undefined && (present.partitioned || !partitioned)) return present;
    const other = databaseInOtherCase(name, this.#databases.keys());
    if (other !== undefined) throw differsInCase(name, other, this.version);
    const entry = present ?? {
      name,
      primary: primary ?? this.#emptiestShard(),
      uuid: makeUuid(),
      timestamp: this.clock.tick(),
      lastMod: 1,
      partitioned,
    };
    return this.saveDatabase({ ...entry, partitioned });
  }

  async saveDatabase(entry: DatabaseEntry): Promise<DatabaseEntry> {
    this.#databases.set(entry.name, entry);
    await this.store.put('databases', documents.databaseDocument(this.version, entry));
    return entry;
  }

  async dropDatabase(name: string): Promise<void> {
    for (const namespace of [...this.#collections.keys(), ...this.#moved.keys()].filter(
      (each) => databaseOf(each) === name,
    ))
      await this.dropCollection(namespace);
    this.#databases.delete(name);
    await this.store.remove('databases', doc(['_id', name]));
  }

  #emptiestShard(): string {
    const sizes = this.shards.map((shard) => ({ id: shard.id, bytes: shard.dataBytes() }));
    sizes.sort((a, b) => a.bytes - b.bytes);
    return sizes[0]?.id ?? '';
  }

  get collections(): readonly ShardedCollection[] {
    return [...this.#collections.values()];
  }

  /** The sharded collection of this name; undefined for unsharded ones. */
  collection(namespace: string): ShardedCollection | undefined {
    return this.#collections.get(namespace);
  }

  /** The shard that an unsharded collection was moved to; undefined for one that is on its database's primary shard. */
  movedTo(namespace: string): string | undefined {
    return this.#moved.get(namespace)?.chunks.shards[0];
  }

  /** Names of the collections of a database that were moved. */
  movedOf(db: string): string[] {
    return [...this.#moved.keys()].filter((namespace) => databaseOf(namespace) === db);
  }

  /** @param collection with one chunk, by `_id` */
  async saveMoved(collection: ShardedCollection): Promise<void> {
    const before = this.#moved.get(collection.namespace);
    if (before !== undefined) await this.store.remove('chunks', documents.chunksOf(this.version, before));
    this.#moved.set(collection.namespace, collection);
    await this.store.putAll(
      'chunks',
      collection.chunks.chunks.map((chunk) => documents.chunkDocument(this.version, collection, chunk)),
    );
    await this.store.put(
      'collections',
      documents.collectionDocument(this.version, collection).set('unsplittable', true),
    );
  }

  /** Stores another bucketing of a sharded or moved collection of buckets. */
  async saveTimeSeries(namespace: string, timeseries: Doc): Promise<void> {
    const sharded = this.#collections.get(namespace);
    const moved = this.#moved.get(namespace);
    if (sharded !== undefined) await this.saveCollection({ ...sharded, timeseries });
    if (moved !== undefined) await this.saveMoved({ ...moved, timeseries });
  }

  async #forgetMoved(collection: ShardedCollection): Promise<void> {
    this.#moved.delete(collection.namespace);
    await this.store.remove('chunks', documents.chunksOf(this.version, collection));
    await this.#forgetEntry(collection.namespace);
  }

  /** @throws CommandError 118 when the collection is not sharded */
  sharded(namespace: string): ShardedCollection {
    const collection = this.#collections.get(namespace);
    if (collection === undefined)
      throw new CommandError(
        118,
        'NamespaceNotSharded',
        this.version.atLeast(8, 0)
          ? `Expected collection ${namespace} to be sharded`
          : `Collection ${namespace} is not sharded.`,
      );
    return collection;
  }

  async saveCollection(collection: ShardedCollection): Promise<void> {
    const before = this.#collections.get(collection.namespace);
    this.#collections.set(collection.namespace, collection);
    for (const shard of this.#shards.values()) shard.stored.setShardKey(collection.namespace, collection.key.doc);
    const kept = new Set(collection.chunks.chunks);
    const known = new Set(before?.chunks.chunks);
    const gone = [...known]
      .filter((chunk) => !kept.has(chunk))
      .filter((chunk) => ![...kept].some((each) => each.id.equals(chunk.id)));
    const changed = before?.key === collection.key ? [...kept].filter((chunk) => !known.has(chunk)) : [...kept];
    if (gone.length > 0) await this.store.remove('chunks', doc(['_id', doc(['$in', gone.map((chunk) => chunk.id)])]));
    await this.store.putAll(
      'chunks',
      changed.map((chunk) => documents.chunkDocument(this.version, collection, chunk)),
    );
    await this.store.put('collections', documents.collectionDocument(this.version, collection));
    for (const id of this.#aware(collection))
      await this.shard(id).cache.put('cache.collections', documents.cachedCollectionDocument(this.version, collection));
  }

  /** The shards that know of a sharded collection: owners of its chunks and the primary of its database. */
  #aware(collection: ShardedCollection): Set<string> {
    const primary = this.#databases.get(databaseOf(collection.namespace))?.primary;
    return new Set([...collection.chunks.shards, ...(primary === undefined ? [] : [primary])]);
  }

  /** Removes the metadata of a collection: its chunks if it is sharded, and its zones in any case. */
  async dropCollection(namespace: string): Promise<void> {
    if (this.#zones.of(namespace).length > 0) await this.store.remove('tags', doc(['ns', namespace]));
    this.#zones.drop(namespace);
    const moved = this.#moved.get(namespace);
    if (moved !== undefined) await this.#forgetMoved(moved);
    const collection = this.#collections.get(namespace);
    if (collection === undefined) return;
    this.#collections.delete(namespace);
    for (const shard of this.#shards.values()) shard.stored.setShardKey(namespace, undefined);
    await this.store.remove('chunks', documents.chunksOf(this.version, collection));
    await this.#forgetEntry(namespace);
    for (const id of this.#aware(collection))
      await this.shard(id).cache.remove('cache.collections', doc(['_id', namespace]));
  }

  /** Since 5.0 the entry is deleted. 4.4 keeps one that marks the collection as dropped. */
  async #forgetEntry(namespace: string): Promise<void> {
    if (this.version.atLeast(5, 0)) await this.store.remove('collections', doc(['_id', namespace]));
    else await this.store.put('collections', documents.droppedCollectionDocument(namespace, Date.now()));
  }

  /** Moves the entry of a sharded collection and its zones to its new name. Chunks belong to the UUID and stay. */
  async renameCollection(from: string, to: string): Promise<void> {
    const moved = this.#moved.get(from);
    if (moved !== undefined) {
      await this.#forgetMoved(moved);
      await this.saveMoved({ ...moved, namespace: to, timestamp: this.clock.tick(), epoch: new ObjectId() });
    }
    const collection = this.#collections.get(from);
    if (collection === undefined) return;
    this.#collections.delete(from);
    for (const shard of this.#shards.values()) shard.stored.setShardKey(from, undefined);
    await this.store.remove('collections', doc(['_id', from]));
    for (const id of this.#aware(collection))
      await this.shard(id).cache.remove('cache.collections', doc(['_id', from]));
    const zones = this.zonesOf(from);
    this.#zones.drop(from);
    for (const zone of zones) await this.addZoneRange({ ...zone, namespace: to });
    await this.saveCollection({ ...collection, namespace: to, timestamp: this.clock.tick(), epoch: new ObjectId() });
  }

  zonesOf(namespace: string): readonly ZoneRange[] {
    return [...this.#zones.of(namespace)];
  }

  /** @throws CommandError 178 when the range overlaps another */
  async addZoneRange(added: ZoneRange): Promise<void> {
    const range = this.#zones.add(added);
    await this.store.put(
      'tags',
      doc(
        ['_id', range.id],
        ['ns', range.namespace],
        ['min', range.minDocument],
        ['max', range.maxDocument],
        ['tag', range.zone],
      ),
    );
  }

  async removeZoneRange(namespace: string, min: Doc, max: Doc): Promise<void> {
    const gone = this.#zones.remove(namespace, [...min.values()], [...max.values()]);
    if (gone !== undefined) await this.store.remove('tags', doc(['_id', gone.id]));
  }

  /** True while a range of any collection is bound to the zone. */
  isZoneUsed(zone: string): boolean {
    return this.#zones.uses(zone);
  }

  shardsOfZone(zone: string): string[] {
    return this.shards.filter((shard) => shard.zones.has(zone)).map((shard) => shard.id);
  }
}
