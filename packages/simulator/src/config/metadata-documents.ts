import { Int32, Long, ObjectId } from 'bson';
import { DateTime, type Doc } from '../bson/value.js';
import { doc } from '../node/doc-fields.js';
import type { ServerVersion } from '../node/server-version.js';
import type { Chunk } from './chunk-map.js';
import type { ClusterShard } from './cluster-shard.js';
import type { ShardedCollection } from './sharded-collection.js';
import type { DatabaseEntry } from './database-entry.js';

/** Epoch of a collection that was dropped, in 4.4. */
const noEpoch = new ObjectId(Buffer.alloc(12));

/** The document of `config.version`: 7.0 left out the numbers of the metadata's own version. */
export function versionDocument(version: ServerVersion, clusterId: ObjectId): Doc {
  if (version.atLeast(7, 0)) return doc(['_id', new Int32(1)], ['clusterId', clusterId]);
  return doc(
    ['_id', new Int32(1)],
    ['minCompatibleVersion', new Int32(5)],
    ['currentVersion', new Int32(6)],
    ['clusterId', clusterId],
  );
}

/** A shard in `config.shards` and in `listShards`. 5.0 added the time at which it was added. */
export function shardDocument(version: ServerVersion, shard: ClusterShard): Doc {
  const document = doc(['_id', shard.id], ['host', shard.connectionString], ['state', new Int32(1)]);
  if (version.atLeast(5, 0)) document.set('topologyTime', shard.addedAt);
  if (version.atLeast(8, 0)) document.set('replSetConfigVersion', Long.fromInt(-1));
  if (shard.draining) document.set('draining', true);
  return shard.zones.size > 0 ? document.set('tags', [...shard.zones]) : document;
}

/** A database in `config.databases`: since 6.0 every database may hold sharded collections. */
export function databaseDocument(version: ServerVersion, entry: DatabaseEntry): Doc {
  const document = doc(['_id', entry.name], ['primary', entry.primary]);
  if (!version.atLeast(6, 0)) document.set('partitioned', entry.partitioned);
  const databaseVersion = doc(['uuid', entry.uuid]);
  if (version.atLeast(5, 0)) databaseVersion.set('timestamp', entry.timestamp);
  return document.set('version', databaseVersion.set('lastMod', new Int32(entry.lastMod)));
}

/** A sharded collection in `config.collections`. */
export function collectionDocument(version: ServerVersion, collection: ShardedCollection): Doc {
  const changed = new DateTime(BigInt(collection.changedMs));
  if (!version.atLeast(5, 0)) return collectionDocumentOf44(collection, changed);
  const document = doc(
    ['_id', collection.namespace],
    ['lastmodEpoch', collection.epoch],
    ['lastmod', changed],
    ['timestamp', collection.timestamp],
    ['uuid', collection.uuid],
    ['key', collection.key.doc],
  );
  if (collection.defaultCollation !== undefined) document.set('defaultCollation', collection.defaultCollation);
  document.set('unique', collection.unique).set('noBalance', collection.noBalance);
  if (collection.timeseries !== undefined) document.set('timeseriesFields', collection.timeseries);
  return document;
}

function collectionDocumentOf44(collection: ShardedCollection, changed: DateTime): Doc {
  const document = doc(
    ['_id', collection.namespace],
    ['lastmodEpoch', collection.epoch],
    ['lastmod', changed],
    ['dropped', false],
    ['key', collection.key.doc],
  );
  if (collection.defaultCollation !== undefined) document.set('defaultCollation', collection.defaultCollation);
  document.set('unique', collection.unique).set('uuid', collection.uuid);
  if (collection.noBalance) document.set('noBalance', true);
  return document.set('distributionMode', 'sharded');
}

/** What 4.4 leaves in `config.collections` of a dropped collection. */
export function droppedCollectionDocument(namespace: string, droppedMs: number): Doc {
  return doc(
    ['_id', namespace],
    ['lastmodEpoch', noEpoch],
    ['lastmod', new DateTime(BigInt(droppedMs))],
    ['dropped', true],
  );
}

/**
 * A chunk in `config.chunks`: of a namespace in 4.4, of a collection's UUID since 5.0. 7.0 adds the time since when it
 * is on its shard.
 */
export function chunkDocument(version: ServerVersion, collection: ShardedCollection, chunk: Chunk): Doc {
  const document = doc(['_id', chunk.id]);
  if (version.atLeast(5, 0)) document.set('uuid', collection.uuid);
  else document.set('ns', collection.namespace);
  document
    .set('min', collection.key.boundDocument(chunk.min))
    .set('max', collection.key.boundDocument(chunk.max))
    .set('shard', chunk.shard)
    .set('lastmod', chunk.version);
  if (!version.atLeast(5, 0)) document.set('lastmodEpoch', collection.epoch);
  if (chunk.jumbo === true) document.set('jumbo', true);
  else if (chunk.isSplit === true && version.atLeast(8, 0)) document.set('jumbo', false);
  const [owner] = chunk.history;
  if (version.atLeast(7, 0) && owner !== undefined) document.set('onCurrentShardSince', owner.validAfter);
  return document.set(
    'history',
    chunk.history.map((each) => doc(['validAfter', each.validAfter], ['shard', each.shard])),
  );
}

/** The condition that finds all chunks of a collection in `config.chunks`. */
export function chunksOf(version: ServerVersion, collection: ShardedCollection): Doc {
  return version.atLeast(5, 0) ? doc(['uuid', collection.uuid]) : doc(['ns', collection.namespace]);
}

/** A sharded collection in a shard's `config.cache.collections`. */
export function cachedCollectionDocument(version: ServerVersion, collection: ShardedCollection): Doc {
  const is80 = version.atLeast(8, 0);
  const document = doc(['_id', collection.namespace]);
  if (!is80) document.set('epoch', collection.epoch);
  if (version.atLeast(5, 0) && !is80) document.set('timestamp', collection.timestamp);
  document.set('uuid', collection.uuid).set('key', collection.key.doc);
  if (collection.defaultCollation !== undefined) document.set('defaultCollation', collection.defaultCollation);
  document.set('unique', collection.unique).set('refreshing', false);
  if (is80) document.set('epoch', collection.epoch).set('timestamp', collection.timestamp).set('unsplittable', false);
  return document.set('lastRefreshedCollectionVersion', collection.chunks.version());
}
