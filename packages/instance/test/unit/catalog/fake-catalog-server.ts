import { BSON } from 'mongodb';
import type { Document } from 'mongodb';
import { indexesMax, indexSignature } from '../../../src/catalog/index-spec.js';
import { sameDocument, withoutFields } from '../../../src/catalog/namespace.js';
import { FakeNodeClient, serverError } from '../fake-node-client.js';
import type { Handler } from '../fake-node-client.js';

interface Collection {
  uuid: BSON.UUID;
  type: string;
  options: Document;
  indexes: Document[];
  documents: Document[];
}

/** Simulates a lost connection: thrown instead of a reply, before or after the command took effect. */
export class ConnectionLost extends Error {}

/**
 * A router with a catalog in memory. It implements DDL, zones and the config database as far as 5.0.7 was recorded
 * (02-catalog, 10-initial-distribution, 15-attributes). It stores no documents, only their number.
 */
export class FakeCatalogServer {
  readonly databases = new Map<string, { primary: string; version?: Document; collections: Map<string, Collection> }>();
  readonly sharded = new Map<string, Document>();
  readonly chunks: Document[] = [];
  readonly changelog: Document[] = [];
  /** What is resharded now. */
  readonly reshardings: Document[] = [];
  readonly shards: { _id: string; tags: string[] }[];
  tags: Document[] = [];
  /** Namespaces whose documents violate every unique index. */
  readonly violating = new Set<string>();
  /** The reply of `connectionStatus`; at first nobody is logged in. */
  authInfo: Document = { authenticatedUsers: [], authenticatedUserPrivileges: [] };
  balancerMode: 'off' | 'full' = 'off';
  notablescan = false;
  /** Codes with which it refuses to list a database, to open a view, or a pipeline on a collection. */
  readonly refused = new Map<string, number>();
  /** The file system of every shard. */
  disk = { totalBytes: 1e12, usedBytes: 1e11 };
  /** The document of `admin.system.version`, if there is one; null: not readable. */
  featureVersion: Document | null | undefined;
  readonly client: FakeNodeClient;
  /** Loses the connection at the n-th command from now on, counted from 0, once. */
  failure: { atCommand: number; afterEffect: boolean } | null = null;

  constructor(
    shardIds: readonly string[],
    readonly version = 5,
  ) {
    this.shards = shardIds.map((_id) => ({ _id, tags: [] }));
    this.client = new FakeNodeClient(
      'fake router',
      this.withFailures({
        listDatabases: () => ({ databases: [...this.databases.keys()].map((name) => ({ name })) }),
        listCollections: (database, command) => cursor(this.listCollections(database, command)),
        listIndexes: (database, command) => cursor(this.need(database, command.listIndexes as string).indexes),
        find: (database, command) => cursor(this.find(database, command)),
        aggregate: (database, command) => cursor(this.aggregate(database, command)),
        dataSize: (database, command) => this.dataSize(database, command.dataSize as string),
        drop: (database, command) => this.drop(database, command.drop as string),
        create: (database, command, exact) => this.create(database, command, exact),
        createIndexes: (database, command) => this.createIndexes(database, command),
        dropIndexes: (database, command) => this.dropIndexes(database, command),
        collMod: (database, command) => this.collMod(database, command),
        enableSharding: (_, command) => this.enableSharding(command),
        shardCollection: (_, command) => this.shardCollection(command),
        addShardToZone: (_, command) => this.addShardToZone(command),
        removeShardFromZone: (_, command) => this.removeShardFromZone(command),
        updateZoneKeyRange: (_, command, exact) => this.updateZoneKeyRange(command, exact),
        flushRouterConfig: () => ({ flushed: true }),
        getParameter: () => ({ notablescan: this.notablescan }),
        connectionStatus: () => ({ authInfo: this.authInfo }),
        balancerStatus: () => ({ mode: this.balancerMode, inBalancerRound: false }),
        dbStats: () => ({
          raw: { 'set/host:1': { fsTotalSize: this.disk.totalBytes, fsUsedSize: this.disk.usedBytes } },
        }),
      }),
    );
  }

  /** Creates a collection without commands. */
  add(namespace: string, parts: Partial<Collection> = {}): Collection {
    const [database, name] = split(namespace);
    const indexes = parts.type === 'view' ? [] : [{ v: 2, key: { _id: 1 }, name: '_id_' }, ...(parts.indexes ?? [])];
    const collection: Collection = {
      uuid: new BSON.UUID(),
      type: 'collection',
      options: {},
      documents: [],
      ...parts,
      indexes,
    };
    this.database(database).collections.set(name, collection);
    return collection;
  }

  /** Shards a collection that was added, with the given chunks. */
  addSharded(
    namespace: string,
    key: Document,
    unique: boolean,
    chunks: Document[],
    parts: Partial<Collection> = {},
  ): void {
    const { uuid } = this.add(namespace, parts);
    this.sharded.set(namespace, { _id: namespace, key, unique, uuid });
    this.chunks.push(...chunks.map((chunk) => ({ ...chunk, uuid })));
  }

  /** Everything that must be equal after an interrupted and an uninterrupted run. */
  state(): unknown {
    const collections = [...this.databases].flatMap(([database, { primary, collections: list }]) =>
      [...list].map(([name, { type, options, indexes }]) => ({
        namespace: `${database}.${name}`,
        primary,
        type,
        options,
        indexes: [...indexes].sort(byName),
      })),
    );
    return BSON.EJSON.parse(
      BSON.EJSON.stringify(
        {
          collections: collections.sort((a, b) => (a.namespace < b.namespace ? -1 : 1)),
          sharded: [...this.sharded.values()]
            .map(({ _id, key, unique }) => ({ _id: _id as string, key: key as Document, unique: unique as boolean }))
            .sort((a, b) => (a._id < b._id ? -1 : 1)),
          chunks: this.chunks.map((chunk) => BSON.EJSON.stringify(withoutFields(chunk, 'uuid'))).sort(),
          tags: this.tags,
          shards: this.shards,
        },
        { relaxed: false },
      ),
    );
  }

  private withFailures(table: Record<string, Handler>): Record<string, Handler> {
    const wrapped = Object.entries(table).map(([name, handler]): [string, Handler] => [
      name,
      (database, command, exact) => {
        const { failure } = this;
        if (failure === null) return handler(database, command, exact);
        failure.atCommand -= 1;
        if (failure.atCommand >= 0) return handler(database, command, exact);
        this.failure = null;
        if (failure.afterEffect) handler(database, command, exact);
        throw new ConnectionLost();
      },
    ]);
    return Object.fromEntries(wrapped);
  }

  private database(name: string): { primary: string; collections: Map<string, Collection> } {
    let database = this.databases.get(name);
    if (database === undefined) {
      database = { primary: this.shards[0]?._id ?? '', collections: new Map() };
      this.databases.set(name, database);
    }
    return database;
  }

  private need(database: string, name: string): Collection {
    const collection = this.databases.get(database)?.collections.get(name);
    if (collection === undefined) throw serverError(26, 'NamespaceNotFound');
    return collection;
  }

  private listCollections(database: string, command: Document): Document[] {
    this.refuse(database);
    const wanted = (command.filter as Document | undefined)?.name as string | undefined;
    const rows = [...(this.databases.get(database)?.collections ?? [])];
    return rows
      .filter(([name]) => wanted === undefined || name === wanted)
      .map(([name, { uuid, type, options }]) => ({
        name,
        type,
        options,
        info: type === 'collection' ? { readOnly: false, uuid } : { readOnly: true },
      }));
  }

  private refuse(name: string): void {
    const code = this.refused.get(name);
    if (code !== undefined) throw serverError(code, `Location${code}`);
  }

  private find(database: string, command: Document): Document[] {
    const name = command.find as string;
    if (database === 'admin' && name === 'system.version') return this.featureVersions();
    if (database !== 'config') return this.databases.get(database)?.collections.get(name)?.documents ?? [];
    const filter = Object.entries((command.filter as Document | undefined) ?? {});
    return this.config(name).filter((row) =>
      filter.every(([field, value]) => sameDocument({ value: row[field] as unknown }, { value: value as unknown })),
    );
  }

  private featureVersions(): Document[] {
    if (this.featureVersion === null) throw serverError(13, 'Unauthorized');
    return this.featureVersion === undefined ? [] : [this.featureVersion];
  }

  private config(name: string): Document[] {
    switch (name) {
      case 'databases':
        return [...this.databases].map(([_id, { collections: _, ...row }]) => ({ _id, ...row, partitioned: true }));
      case 'collections':
        return [...this.sharded.values()];
      case 'chunks':
        return this.chunks;
      case 'changelog':
        return this.changelog;
      case 'reshardingOperations':
        return this.reshardings;
      case 'tags':
        return this.tags;
      case 'shards':
        return this.shards;
      default:
        return [];
    }
  }

  private aggregate(database: string, command: Document): Document[] {
    const [stage] = command.pipeline as Document[];
    this.refuse(`${database}.${command.aggregate as string}`);
    if ((command.cursor as Document | undefined)?.batchSize === 0) return [];
    if (stage?.$indexStats !== undefined) return this.indexStats(database, command.aggregate as string);
    if (stage?.$sample === undefined) throw serverError(40324, 'Location40324');
    return [];
  }

  private indexStats(database: string, name: string): Document[] {
    const parts = this.databases.get(database);
    const uuid = this.sharded.get(`${database}.${name}`)?.uuid as BSON.UUID | undefined;
    const owners =
      uuid === undefined
        ? [parts?.primary]
        : this.chunks.filter((chunk) => chunk.uuid === uuid).map(({ shard }) => shard as string);
    const indexes = parts?.collections.get(name)?.indexes ?? [];
    return [...new Set(owners)].flatMap((shard) => indexes.map((spec) => ({ name: spec.name as string, shard, spec })));
  }

  private dataSize(database: string, namespace: string): Document {
    const name = namespace.slice(database.length + 1);
    const count = this.databases.get(database)?.collections.get(name)?.documents.length ?? 0;
    return { size: 10 * count, numObjects: count };
  }

  private create(database: string, command: Document, exact: Document): Document {
    const name = command.create as string;
    const options = withoutFields(command, 'create', 'writeConcern');
    for (const field of ['pipeline', 'validator']) if (field in options) options[field] = exact[field] as unknown;
    const existing = this.databases.get(database)?.collections.get(name);
    if (existing !== undefined && !sameDocument(existing.options, options)) throw serverError(48, 'NamespaceExists');
    if (existing === undefined)
      this.add(`${database}.${name}`, { type: 'viewOn' in options ? 'view' : 'collection', options });
    return {};
  }

  private drop(database: string, name: string): Document {
    this.need(database, name);
    this.databases.get(database)?.collections.delete(name);
    this.sharded.delete(`${database}.${name}`);
    return {};
  }

  private createIndexes(database: string, command: Document): Document {
    const name = command.createIndexes as string;
    const { indexes, options } = this.need(database, name);
    const added: Document[] = [];
    for (const wanted of command.indexes as Document[]) {
      const shown: Document = { v: 2, ...wanted, key: shownKey(wanted.key as Document) };
      if ((shown.collation as Document | undefined)?.locale === 'simple') delete shown.collation;
      else if (options.collation !== undefined) shown.collation ??= options.collation as Document;
      if (indexes.some((index) => sameDocument(index, shown))) continue;
      if (indexes.some((index) => index.name === shown.name)) throw serverError(86, 'IndexKeySpecsConflict');
      if ([...indexes, ...added].some((index) => indexSignature(index) === indexSignature(shown)))
        throw serverError(85, 'IndexOptionsConflict');
      if (Number(shown.expireAfterSeconds ?? 0) > Date.now() / 1000) throw serverError(67, 'CannotCreateIndex');
      if (shown.unique === true && this.violating.has(`${database}.${name}`)) throw serverError(11000, 'DuplicateKey');
      if (indexes.length + added.length >= indexesMax) throw serverError(67, 'CannotCreateIndex');
      added.push(shown);
    }
    indexes.push(...added);
    return {};
  }

  private dropIndexes(database: string, command: Document): Document {
    const { indexes } = this.need(database, command.dropIndexes as string);
    const position = indexes.findIndex((index) => index.name === command.index);
    if (position < 0) throw serverError(27, 'IndexNotFound');
    indexes.splice(position, 1);
    return {};
  }

  private collMod(database: string, command: Document): Document {
    const name = command.collMod as string;
    const collection = this.need(database, name);
    if ('expireAfterSeconds' in command) collection.options.expireAfterSeconds = command.expireAfterSeconds as number;
    const change = command.index as Document | undefined;
    if (change === undefined) return {};
    const index = collection.indexes.find((one) => one.name === change.name);
    if (index === undefined) throw serverError(27, 'IndexNotFound');
    const attributes = withoutFields(change, 'name');
    if (('unique' in attributes || 'prepareUnique' in attributes) && this.version < 6)
      throw serverError(40415, 'Location40415');
    if ('expireAfterSeconds' in attributes && index.expireAfterSeconds === undefined)
      throw serverError(72, 'InvalidOptions');
    if (attributes.unique === true) {
      if (index.prepareUnique !== true) throw serverError(72, 'InvalidOptions');
      if (this.violating.has(`${database}.${name}`)) throw serverError(359, 'CannotConvertIndexToUnique');
      delete index.prepareUnique;
    }
    Object.assign(index, attributes);
    for (const attribute of ['hidden', 'prepareUnique'])
      if (index[attribute] === false) Reflect.deleteProperty(index, attribute);
    return {};
  }

  private enableSharding(command: Document): Document {
    const name = command.enableSharding as string;
    const existing = this.databases.get(name);
    if (existing === undefined)
      this.databases.set(name, { primary: (command.primaryShard as string | undefined) ?? '', collections: new Map() });
    else if (command.primaryShard !== undefined && command.primaryShard !== existing.primary)
      throw serverError(48, 'NamespaceExists');
    return {};
  }

  private shardCollection(command: Document): Document {
    const namespace = command.shardCollection as string;
    if (this.sharded.has(namespace)) throw serverError(23, 'AlreadyInitialized');
    const [database, name] = split(namespace);
    const { uuid, indexes } = this.need(database, name);
    const key = command.key as Document;
    const isSupported = indexes.some((index) =>
      Object.entries(key).every(([field, value], position) => {
        const other = Object.entries(index.key as Document)[position];
        return other?.[0] === field && other[1] === value;
      }),
    );
    if (!isSupported) indexes.push({ v: 2, key, name: `server_made_${name}` });
    this.sharded.set(namespace, { _id: namespace, key, unique: command.unique === true, uuid });
    const ranges = this.tags.filter((tag) => tag.ns === namespace);
    for (const { min, max, tag } of ranges) {
      const owner = this.shards.find((shard) => shard.tags.includes(tag as string));
      this.chunks.push({ uuid, min: min as Document, max: max as Document, shard: owner?._id });
    }
    return {};
  }

  private addShardToZone(command: Document): Document {
    const shard = this.shards.find(({ _id }) => _id === command.addShardToZone);
    if (shard === undefined) throw serverError(70, 'ShardNotFound');
    if (!shard.tags.includes(command.zone as string)) shard.tags.push(command.zone as string);
    return {};
  }

  private removeShardFromZone(command: Document): Document {
    if (this.tags.some((tag) => tag.tag === command.zone)) throw serverError(179, 'ZoneStillInUse');
    const shard = this.shards.find(({ _id }) => _id === command.removeShardFromZone);
    if (shard !== undefined) shard.tags = shard.tags.filter((zone) => zone !== command.zone);
    return {};
  }

  private updateZoneKeyRange(command: Document, exact: Document): Document {
    const ns = command.updateZoneKeyRange as string;
    const { min, max } = exact as { min: Document; max: Document };
    const zone = command.zone as string | null;
    if (zone !== null && !this.shards.some(({ tags }) => tags.includes(zone))) throw serverError(178, 'ZoneNotFound');
    this.tags = this.tags.filter((tag) => tag.ns !== ns || !sameDocument(tag.min as Document, min));
    if (zone !== null) this.tags.push({ ns, min, max, tag: zone });
    return {};
  }
}

/** Text fields are shown as two internal fields of the server. */
function shownKey(key: Document): Document {
  const isText = (entry: [string, unknown]): boolean => entry[1] === 'text';
  const entries = Object.entries(key) as [string, unknown][];
  const first = entries.findIndex(isText);
  return Object.fromEntries(
    entries.flatMap((entry, position): [string, unknown][] => {
      if (!isText(entry)) return [entry];
      return position === first ? Object.entries({ _fts: 'text', _ftsx: 1 }) : [];
    }),
  );
}

function cursor(firstBatch: Document[]): Document {
  return { cursor: { firstBatch, id: 0 } };
}

function split(namespace: string): [string, string] {
  const dot = namespace.indexOf('.');
  return [namespace.slice(0, dot), namespace.slice(dot + 1)];
}

function byName(a: Document, b: Document): number {
  return (a.name as string) < (b.name as string) ? -1 : 1;
}
