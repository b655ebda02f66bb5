import { ChunkMap } from '../bson/chunk-map.js';
import { type KeySource, shardKeyFields } from '../bson/shard-key.js';
import type { Catalog, CatalogEntry } from '../catalog/namespace.js';
import type { Cluster } from '../cluster/door.js';
import type { SyncedCollection } from '../store/synced-collection.js';

/** A collection of a share with what planning its copy needs. */
export interface ShareCollection {
  collection: SyncedCollection;
  entry: CatalogEntry;
}

/**
 * The collections that a shard holds documents of: sharded ones with a chunk there, unsharded ones that it is the
 * primary shard of. Largest first.
 */
export function shareCollections(catalog: Catalog, shardId: string, source: Cluster, destination: Cluster): ShareCollection[] {
  return catalog
    .filter((entry) => entry.type === 'collection' && holdsDocuments(entry, shardId, source))
    .map((entry) => ({ entry, collection: syncedCollection(entry, shardId, source, destination) }))
    .sort((a, b) => b.entry.sizeBytes - a.entry.sizeBytes);
}

function holdsDocuments(entry: CatalogEntry, shardId: string, source: Cluster): boolean {
  if (source.kind === 'replicaSet') return true;
  if (entry.sharding === null) return entry.primaryShard === shardId;
  return entry.sharding.chunks.some((chunk) => chunk.shard === shardId);
}

function syncedCollection(entry: CatalogEntry, shardId: string, source: Cluster, destination: Cluster): SyncedCollection {
  const key = entry.sharding === null ? [] : shardKeyFields(entry.sharding.key);
  const sourceKey = source.kind === 'sharded' ? key : [];
  const chunks = sourceKey.length === 0 || entry.sharding === null ? null : new ChunkMap(sourceKey, entry.sharding.chunks);
  const collation = entry.options.collation as { locale?: string } | undefined;
  return {
    uuid: entry.uuid,
    database: entry.database,
    name: entry.name,
    capped: entry.options.capped === true,
    collated: collation !== undefined && collation.locale !== 'simple',
    sourceKey,
    destinationKey: destination.kind === 'sharded' ? key : [],
    owns: (document: Uint8Array, from: KeySource) => chunks === null || chunks.owns(document, shardId, from),
  };
}
