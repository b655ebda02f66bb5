import { Binary } from 'mongodb';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import { compareRaw } from '../../../src/bson/order.js';
import type { RawValue } from '../../../src/bson/scan.js';
import type { ClusterClient, NodeClient } from '../../../src/cluster/node-client.js';
import type { FollowedEntry } from '../../../src/lifecycle/task/followed-collections.js';
import { taskCollection, type TaskCollection } from '../../../src/lifecycle/task/task-collections.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { wholeRange } from '../../../src/store/partition.js';
import type { Network } from './calls.js';
import { clientWith } from './client-with.js';
import { modelNamespace, modelUuid, type NamedCollection } from './change-events.js';
import { SourceRouterClient } from './router-client.js';
import { type ReadWitness, ShardClient } from './source-clients.js';
import { keyOf, type SourceHistory, type SourceShard } from './source-history.js';
import { chunkOf, keyPattern } from '../catalog/as-read.js';
import { wholeCollections } from './parts.js';

/** A task's part of the source, and its view of it. */
export interface TaskView {
  id: string;
  /** The catalog with which the migration begins. */
  atStart: CatalogEntry[];
  taskOf(followed: FollowedEntry): TaskCollection | null;
  source(network: Network, witness: ReadWitness): ClusterClient;
}

const unwitnessed: ReadWitness = { onReread: () => undefined };
const firstCollection: NamedCollection = { uuid: modelUuid, name: modelNamespace.name };

/** The task of one shard, read directly from it. @param requested in the order of its records */
export function shardView(
  source: SourceHistory,
  shard: SourceShard,
  atStart: readonly NamedCollection[] = [firstCollection],
  requested = false,
): TaskView {
  return {
    id: shard.id,
    atStart: atStart.map((collection) => entryOf(collection, [])),
    taskOf: (followed) => ({
      collection: collectionOf(followed, shard, source),
      entry: followed.entry,
      copy: followed.copy,
      range: wholeRange,
      sizeBytes: 2 ** 30,
      seenPerOwned: 1,
      orderWish: { requested, detects: false, obstacle: null },
    }),
    source: (network, witness) =>
      clusterOf(
        source,
        new SourceRouterClient(source, network, unwitnessed),
        new ShardClient(source, shard, network, witness),
      ),
  };
}

/** The task with a range of `_id`s under a shard's name, read through the router. */
export function routerView(
  source: SourceHistory,
  shard: SourceShard,
  bounds: readonly RawValue[],
  atStart: readonly NamedCollection[] = [firstCollection],
): TaskView {
  const unconnected = clusterOf(source, clientWith({}), null);
  return {
    id: shard.id,
    atStart: atStart.map((collection) => entryOf(collection, bounds)),
    taskOf: (followed) => taskCollection(followed, shard.id, unconnected, wholeCollections),
    source: (network, witness) => clusterOf(source, new SourceRouterClient(source, network, witness), null),
  };
}

/** @param shard the client of a shard; null without direct access */
export function clusterOf(source: SourceHistory, router: NodeClient, shard: NodeClient | null): ClusterClient {
  return {
    name: 'cluster0',
    kind: 'sharded',
    version: [5, 0, 7],
    clusterId: '00',
    displayHost: 'cluster0',
    router,
    access: shard === null ? 'router' : 'direct',
    shardIds: source.shards.map(({ id }) => id),
    shard: () => shard ?? router,
    taskClient: () => shard ?? router,
    close: () => Promise.resolve(),
  };
}

/**
 * A collection with moved chunks, large enough for several readers.
 * @param shardIds shards that show a copy of its DDL changes
 */
export function entryOf(
  { uuid, name }: NamedCollection,
  bounds: readonly RawValue[],
  shardIds: readonly string[] = [],
): CatalogEntry {
  const ordered = [...bounds]
    .sort(compareRaw)
    .filter((bound, index, all) => index === 0 || compareRaw(all[index - 1] ?? bound, bound) < 0);
  return {
    database: modelNamespace.database,
    name,
    type: 'collection',
    uuid,
    options: {},
    indexes: [],
    primaryShard: 'shard0',
    sharding: {
      key: keyPattern({ sk: 1 }),
      unique: false,
      chunks: shardIds.map((shard, index) => chunkOf({ sk: index }, { sk: index + 1 }, shard)),
      everMoved: true,
    },
    sizeBytes: 2 ** 30,
    documentCount: 0,
    taskBounds: ordered.map(({ type, bytes }) => new Binary(Buffer.concat([Buffer.from([type]), bytes]))),
  };
}

function collectionOf(
  { entry, notBefore }: FollowedEntry,
  shard: SourceShard,
  source: SourceHistory,
): SyncedCollection {
  const { uuid, database, name } = entry;
  const key = [{ field: 'sk', hashed: false }];
  const owns = (document: Uint8Array): boolean => source.shardOf(keyOf(document)) === shard;
  return {
    uuid,
    database,
    name,
    destination: { database, name },
    notBefore,
    capped: false,
    collated: false,
    readBy: 'uuid',
    showsOrphans: false,
    sourceKey: key,
    destinationKey: key,
    owns,
  };
}
