import { elementType } from '../../bson/element-type.js';
import { elementsOf } from '../../bson/scan.js';
import {
  byNamespace,
  compareCatalogs,
  type CatalogDifference,
  type CompareOptions,
} from '../../catalog/plan/compare-catalogs.js';
import { type Catalog, type CatalogEntry, namespaceFrom, namespaceOf, type Sharding } from '../../catalog/namespace.js';
import type { NamespaceRemap } from '../../catalog/namespace-remap.js';
import type { CatalogReport } from '../../catalog/read/read-catalog.js';
import type { ClusterClient } from '../../cluster/node-client.js';

/**
 * A difference between two namespaces. `ranges`: the chunks of the destination's shard key do not cover it exactly
 * once. `order`: the documents of a capped collection were inserted in another order.
 */
export interface NamespaceDifference extends Omit<CatalogDifference, 'kind'> {
  kind: CatalogDifference['kind'] | 'ranges' | 'order';
}

/** What counts as a difference. */
interface DefinitionRules extends Pick<CompareOptions, 'destination' | 'remap' | 'skipped'> {
  source: Pick<ClusterClient, 'kind'>;
  /** False: the destination intentionally has other shard keys. */
  shardKeys: boolean;
}

/**
 * Compares all definitions in their final form: collections and views, their options, validators, pipelines and
 * indexes, shard keys, and whether the destination's ranges are complete. Between a replica set and a sharded cluster
 * shard keys are not compared.
 * @returns differences in order of namespace
 */
export function compareDefinitions(
  source: CatalogReport,
  destination: CatalogReport,
  deps: DefinitionRules,
): NamespaceDifference[] {
  const comparesKeys = comparesShardKeys(deps);
  const expected = comparesKeys ? source.catalog : withShardKeysOf(source.catalog, destination.catalog, deps.remap);
  const timeSeries = source.timeSeries.map((namespace) =>
    namespaceOf(deps.remap.toDestination(namespaceFrom(namespace))),
  );
  const differences: NamespaceDifference[] = [
    ...compareCatalogs(expected, destination.catalog, { ...deps, form: 'final', indexScope: 'all' }),
    ...compareTimeSeries(timeSeries, destination.timeSeries),
    ...destination.inconsistentIndexes.map(({ namespace, index }): NamespaceDifference => ({
      kind: 'index',
      namespace,
      detail: `${index} differs between shards of the destination`,
    })),
    ...destination.catalog.flatMap(wrongRanges),
  ];
  return differences.sort(byNamespace);
}

/** Whether shard keys are compared at all. */
export function comparesShardKeys({ source, destination, shardKeys }: Omit<DefinitionRules, 'remap'>): boolean {
  return shardKeys && source.kind === 'sharded' && destination.kind === 'sharded';
}

/** The source's catalog as expected on a destination with its own shard keys. */
function withShardKeysOf(source: Catalog, destination: Catalog, remap: NamespaceRemap): Catalog {
  const found = new Map(destination.map((entry) => [namespaceOf(entry), entry.sharding]));
  const there = (entry: CatalogEntry): string => namespaceOf(remap.toDestination(entry));
  return source.map((entry) => ({ ...entry, sharding: found.get(there(entry)) ?? null }));
}

function compareTimeSeries(source: readonly string[], destination: readonly string[]): NamespaceDifference[] {
  const missing = source.filter((namespace) => !destination.includes(namespace));
  const extra = destination.filter((namespace) => !source.includes(namespace));
  return [
    ...missing.map((namespace): NamespaceDifference => ({ kind: 'missing', namespace, detail: 'timeseries' })),
    ...extra.map((namespace): NamespaceDifference => ({
      kind: 'extra',
      namespace,
      detail: 'timeseries is not on the source',
    })),
  ];
}

function wrongRanges(entry: CatalogEntry): NamespaceDifference[] {
  if (entry.sharding === null || isWhole(entry.sharding)) return [];
  return [
    { kind: 'ranges', namespace: namespaceOf(entry), detail: 'the ranges of its shard key have gaps or overlaps' },
  ];
}

/** From MinKey to MaxKey, each range starting where the previous one ends. */
function isWhole({ chunks }: Sharding): boolean {
  const [first] = chunks;
  const last = chunks.at(-1);
  if (!first || !last || !isAll(first.min, elementType.minKey) || !isAll(last.max, elementType.maxKey)) return false;
  return chunks.every((chunk, position) => {
    const next = chunks[position + 1];
    return next === undefined || Buffer.compare(chunk.max, next.min) === 0;
  });
}

function isAll(bound: Uint8Array, wanted: number): boolean {
  return [...elementsOf(bound)].every(({ type }) => type === wanted);
}
