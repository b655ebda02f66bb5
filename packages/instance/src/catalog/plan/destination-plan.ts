import type { Warning } from '@convoy/api/contract/progress';
import type { Document } from 'mongodb';
import type { ClusterClient, Namespace } from '../../cluster/node-client.js';
import { portableOptions } from '../collection-options.js';
import { distributeChunks, distributeDatabases, type DestinationRange } from './distribution.js';
import { type IndexPlan, type IndexRules, planIndexes, shardingOn } from './index-plan.js';
import type { KeyPattern } from '../key-pattern.js';
import type { Catalog, CatalogEntry } from '../namespace.js';
import type { NamespaceRemap } from '../namespace-remap.js';

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
