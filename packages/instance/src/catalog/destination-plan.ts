import type { Warning } from '@convoy/api/contract/progress';
import type { Sharding as ShardingRequest, ShardingEntry } from '@convoy/api/contract/sharding';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import type { ClusterClient, Namespace } from '../cluster/node-client.js';
import { seriesOf, shownName, userName } from '../cluster/time-series.js';
import { portableOptions } from './collection-options.js';
import { type DestinationRange, distributeChunks, distributeDatabases } from './distribution.js';
import {
  type IndexPlan,
  type IndexRules,
  isSimpleCollation,
  planIndexes,
  shardingOn,
  supportingIndex,
} from './index-plan.js';
import { isIdIndex, portableIndex } from './index-spec.js';
import type { NamespaceFilter } from './namespace-filter.js';
import { nameBounds, type NamespaceRemap } from './namespace-remap.js';
import { type Catalog, type CatalogEntry, isKeyPrefix, type KeyPattern, keyPattern } from './namespace.js';
import { bucketsShardKey, seriesKeyObstacle } from './time-series.js';

/** Everything needed to create one collection or view on the destination. */
export interface CollectionPlan {
  /** The source's entry under its name on the destination; its shard key is the one that counts. */
  entry: CatalogEntry;
  /** Its name on the source. */
  sourceNamespace: Namespace;
  /** Options of the destination's collection. */
  options: Document;
  /** Options of its storage; the destination has all of them, or none if it refuses one. */
  storage: Document;
  indexes: IndexPlan[];
  /** Null for collections that stay unsharded, views, and on replica sets. */
  sharding: { key: KeyPattern; unique: boolean; ranges: DestinationRange[] } | null;
}

/** Everything to create on the destination. Pure data: the same catalog and clusters give the same plan. */
export interface DestinationPlan {
  /** Database → primary shard; the value is null on a replica set. */
  databases: Map<string, string | null>;
  collections: CollectionPlan[];
  warnings: Warning[];
}

/** What determines a plan besides the catalog. */
export interface PlanRules extends IndexRules {
  source: Pick<ClusterClient, 'shardIds'>;
  destination: Pick<ClusterClient, 'kind' | 'version' | 'shardIds'>;
  remap: NamespaceRemap;
}

/**
 * Plans the destination for a source catalog.
 * @param catalog for a migration from a replica set to a sharded cluster: as `applyShardingEntries` returns it
 */
export function planDestination(catalog: Catalog, deps: PlanRules): DestinationPlan {
  const planned = catalog.map((entry) => planCollection(entry, deps));
  return {
    databases: planDatabases(
      catalog.map((entry) => deps.remap.onDestination(entry)),
      deps,
    ),
    collections: planned.map((one) => one.plan),
    warnings: planned.flatMap((one) => one.warnings),
  };
}

/** Plans one collection, for example one that appeared during the migration. */
export function planCollection(
  sourceEntry: CatalogEntry,
  deps: PlanRules,
): { plan: CollectionPlan; warnings: Warning[] } {
  const entry = deps.remap.onDestination(sourceEntry);
  const { options, storage, warnings } = portableOptions(entry);
  const indexes = planIndexes(entry, deps);
  const sharding = shardingOn(deps.destination, entry);
  const plan: CollectionPlan = {
    entry,
    sourceNamespace: { database: sourceEntry.database, name: sourceEntry.name },
    options,
    storage,
    indexes: indexes.indexes,
    sharding:
      sharding === null
        ? null
        : {
            key: sharding.key,
            unique: sharding.unique,
            ranges: distributeChunks(sharding.key, sharding.chunks, deps.source.shardIds, deps.destination.shardIds),
          },
  };
  return { plan, warnings: [...warnings, ...indexes.warnings] };
}

function planDatabases(catalog: Catalog, deps: PlanRules): Map<string, string | null> {
  if (deps.destination.kind === 'replicaSet') return new Map(catalog.map((entry) => [entry.database, null]));
  return distributeDatabases(catalog, deps.source.shardIds, deps.destination.shardIds);
}

/**
 * Applies the `sharding` document of a start request to the catalog of a replica set: listed collections get their
 * shard key (without chunks), all others stay unsharded. With `createSupportingIndexes`, `planIndexes` plans a
 * placeholder for a missing supporting index; without it, the index must exist.
 *
 * The shard key is never declared unique to the server. A unique index on it is deferred and restored like any other,
 * so the destination's key is unique exactly if the source's is.
 * @throws ConvoyError `shardingEntryInvalid`, `shardingKeyIndexMissing`, `shardingKeyCollation`,
 * `shardingKeyUniqueness` or `shardingIndexIncompatible`, each naming the namespace
 */
export function applyShardingEntries(catalog: Catalog, sharding: ShardingRequest, filter: NamespaceFilter): Catalog {
  const requested = new Map(sharding.shardingEntries.map((entry) => [`${entry.database}.${entry.collection}`, entry]));
  const present = new Set(catalog.map(shownName));
  for (const [namespace, entry] of requested) {
    if (!filter.includes(entry.database, entry.collection)) throw invalidEntry(namespace, 'is excluded by the filter');
    if (!present.has(namespace)) throw invalidEntry(namespace, 'does not exist on the source');
  }
  return catalog.map((entry) => {
    const request = requested.get(shownName(entry));
    return request === undefined ? entry : shardedEntry(entry, request, sharding.createSupportingIndexes);
  });
}

function shardedEntry(entry: CatalogEntry, request: ShardingEntry, createSupportingIndexes: boolean): CatalogEntry {
  const namespace = shownName(entry);
  const { timeseries } = entry.options as { timeseries?: Document };
  const asked: KeyPattern = new Map(request.shardCollection.key.flatMap((field) => Object.entries(field)));
  checkShardable(namespace, entry);
  const obstacle = timeseries === undefined ? null : seriesKeyObstacle(asked, timeseries);
  if (obstacle !== null) throw invalidEntry(namespace, obstacle);
  const key = timeseries === undefined ? asked : bucketsShardKey(asked, timeseries);
  const indexes = entry.indexes.map((index) => portableIndex(namespace, index).index);
  if (!createSupportingIndexes) checkSupportingIndex(namespace, key, indexes);
  checkUniqueIndexes(namespace, key, indexes);
  const sharded = { ...entry, sharding: { key, unique: false, chunks: [], everMoved: false } };
  checkNameBytes(namespace, sharded);
  return sharded;
}

function checkShardable(namespace: string, entry: CatalogEntry): void {
  if (entry.type === 'view') throw invalidEntry(namespace, 'is a view');
  if (entry.options.capped === true) throw invalidEntry(namespace, 'is capped');
  if (userName(entry.name).startsWith('system.')) throw invalidEntry(namespace, 'is a system collection');
}

function checkNameBytes(namespace: string, sharded: CatalogEntry): void {
  const { bytes, max } = nameBounds(sharded);
  if (bytes <= max) return;
  const counted = seriesOf(sharded.name) === null ? '' : ' with the prefix of its buckets';
  throw invalidEntry(
    namespace,
    `has a name of ${bytes} bytes${counted}, but sharded collections may have ${max}; rename it or leave it unsharded`,
  );
}

/**
 * A specification does not show whether an index is multikey; the destination's server refuses arrays in shard keys.
 */
function checkSupportingIndex(namespace: string, key: KeyPattern, indexes: readonly Document[]): void {
  if (supportingIndex(indexes, key, false) !== undefined) return;
  const underCollation = indexes.some(
    (index) => isKeyPrefix(key, keyPattern(index)) && !isSimpleCollation(index.collation),
  );
  if (underCollation) {
    throw new ConvoyError(
      'shardingKeyCollation',
      `No index of ${namespace} on the requested shard key has the simple collation; create one on the source.`,
    );
  }
  throw new ConvoyError(
    'shardingKeyIndexMissing',
    `No index of ${namespace} on the source starts with the requested shard key; create one there or set ` +
      'createSupportingIndexes.',
  );
}

function checkUniqueIndexes(namespace: string, key: KeyPattern, indexes: readonly Document[]): void {
  for (const index of indexes) {
    const indexKey = keyPattern(index);
    if (index.prepareUnique === true && index.unique !== true && isKeyPrefix(key, indexKey)) {
      throw new ConvoyError(
        'shardingKeyUniqueness',
        `Index ${String(index.name)} of ${namespace} on the requested shard key has prepareUnique but is not ` +
          'unique yet; convert it on the source first.',
      );
    }
    if (index.unique === true && !isIdIndex(index) && !beginsWithFields(indexKey, key)) {
      throw new ConvoyError(
        'shardingIndexIncompatible',
        `The unique index ${String(index.name)} of ${namespace} does not start with the fields of the requested ` +
          'shard key; choose another key or drop the index.',
      );
    }
  }
}

/** The server's rule for unique indexes of sharded collections: they start with the key's fields, or with `_id`. */
function beginsWithFields(indexKey: KeyPattern, shardKey: KeyPattern): boolean {
  const fields = [...indexKey.keys()];
  return fields[0] === '_id' || [...shardKey.keys()].every((field, position) => fields[position] === field);
}

function invalidEntry(namespace: string, what: string): ConvoyError {
  return new ConvoyError('shardingEntryInvalid', `${namespace} of shardingEntries ${what}.`);
}
