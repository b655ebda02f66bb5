import { elementType } from '../../bson/element-type.js';
import { elementsOf } from '../../bson/scan.js';
import type { NamespaceFilter } from '../../catalog/namespace-filter.js';
import type { NamespaceRemap } from '../../catalog/namespace-remap.js';
import { type Catalog, type CatalogEntry, namespaceFrom, namespaceOf, type Sharding } from '../../catalog/namespace.js';
import { type ChosenIndex, type IndexChoices, withChosenIndexes } from '../../catalog/chosen-indexes.js';
import {
  byNamespace,
  type CatalogDifference,
  compareCatalogs,
  type CompareOptions,
} from '../../catalog/compare-catalogs.js';
import type { SkippedIndex } from '../../catalog/index-plan.js';
import { type CatalogReport, readCatalogReport } from '../../catalog/read-catalog.js';
import { classify } from '../../cluster/failure.js';
import type { Namespace, ClusterClient } from '../../cluster/node-client.js';
import { seriesOf, shownName } from '../../cluster/time-series.js';
import { Metadata } from '../../store/metadata.js';
import { type MigrationRecord, MigrationRecords } from '../../store/migration-record.js';
import { inSameInsertionOrder } from '../compare/compare-capped-order.js';
import { knownTimes, type Side, type Sides } from '../compare/sides.js';
import type { ComparisonDependencies } from './compare-clusters.js';
import { type ComparisonPlan, lookupSides } from './comparison-plan.js';

/** An object that both sides have, and whose documents were not compared. */
interface NotCompared {
  namespace: string;
  reason: string;
}

/** An index that a migration skipped, or took in another form, as its user chose. */
interface SkippedByChoice {
  namespace: string;
  index: string;
  description: string;
}

/** The result of comparing the definitions at the end. */
export interface DdlOutcome {
  differences: NamespaceDifference[];
  notCompared: NotCompared[];
  /** Indexes that differ by the choices of the migration, which are no differences. */
  skippedIndexes: SkippedByChoice[];
  /** Collections and views on the source. */
  namespaces: number;
}

/** Maximum reads of both catalogs: definitions that keep changing are reported as last found. */
const readingsMax = 5;

/** Which namespaces are compared, and their names on the destination. */
interface ComparedNames {
  filter: NamespaceFilter;
  remap: NamespaceRemap;
}

/** Reads both catalogs. */
export async function readReports(
  deps: ComparisonDependencies,
  { filter, remap }: ComparedNames,
): Promise<Sides<CatalogReport>> {
  const { retrying, signal } = deps;
  const read = (side: Side, included: NamespaceFilter) =>
    retrying(`read the catalog of ${deps[side].name}`, () => readCatalogReport(deps[side], included, signal), signal);
  const there = remap.filterOnDestination(filter);
  const [source, destination] = await Promise.all([read('source', filter), read('destination', there)]);
  return { source, destination };
}

/**
 * Compares the definitions of both sides after the documents. As with documents, a difference counts once it has lasted
 * for the rule's time; temporary effects of a DDL change do not.
 * @throws what the clients throw
 */
export async function finalDefinitions(
  deps: ComparisonDependencies,
  names: ComparedNames,
  plan: ComparisonPlan,
): Promise<DdlOutcome> {
  const { options, clock, signal } = deps;
  const { remap } = names;
  let before: ReadonlySet<string> | null = null;
  for (let reading = 1; ; reading += 1) {
    const reports = await readReports(deps, names);
    const { choices, skipped } = await readRecordedChoices(deps);
    const { report, chosen } = withChosenIndexes(reports.source, choices);
    const rule = { ...deps, shardKeys: options.shardKeys, remap, skipped };
    const differences = [
      ...compareDefinitions(report, reports.destination, rule),
      ...(await orderDifferences(deps, reports.source, plan)),
    ];
    const isOld = before !== null && differences.every((difference) => before?.has(nameOf(difference)));
    if (differences.length === 0 || isOld || reading === readingsMax) {
      return {
        differences,
        notCompared: notCompared(reports, plan, remap),
        skippedIndexes: [...chosen.map(byChoice), ...presentOf(skipped, report.catalog).map(afterFailure)],
        namespaces: reports.source.catalog.length + reports.source.timeSeries.length,
      };
    }
    before = new Set(differences.map(nameOf));
    await clock.sleep(options.rule.settle_ms, signal);
  }
}

function byChoice({ namespace, index, description }: ChosenIndex): SkippedByChoice {
  return { namespace, index, description };
}

/** Of collections that the source still has. */
function presentOf(skipped: readonly SkippedIndex[], catalog: Catalog): SkippedIndex[] {
  const there = new Set(catalog.map(({ uuid }) => uuid));
  return skipped.filter(({ uuid }) => there.has(uuid));
}

function afterFailure({ namespace, index, outcome, failure }: SkippedIndex): SkippedByChoice {
  const what = outcome === 'absent' ? 'the destination cannot build it' : 'not unique on the destination';
  return { namespace, index, description: `${what}: ${failure}` };
}

/** Capped collections whose documents are in another order. */
async function orderDifferences(
  deps: ComparisonDependencies,
  source: CatalogReport,
  plan: ComparisonPlan,
): Promise<NamespaceDifference[]> {
  const capped = new Set(source.catalog.filter(({ options }) => options.capped === true).map(namespaceOf));
  const collections = plan.collections.filter((collection) => capped.has(namespaceOf(collection)));
  if (collections.length === 0) return [];
  const times = await knownTimes(deps, deps.signal);
  const differences: NamespaceDifference[] = [];
  for (const collection of collections) {
    if (!(await inSameInsertionOrder(lookupSides(deps, collection, times), deps.retrying)))
      differences.push({
        kind: 'order',
        namespace: namespaceOf(collection.destination),
        detail: 'the documents were inserted in another order',
      });
  }
  return differences;
}

function nameOf({ kind, namespace, detail }: NamespaceDifference): string {
  return JSON.stringify([kind, namespace, detail]);
}

function notCompared(
  { source, destination }: Sides<CatalogReport>,
  plan: ComparisonPlan,
  remap: NamespaceRemap,
): NotCompared[] {
  const nameThere = (namespace: Namespace): string => namespaceOf(remap.toDestination(namespace));
  const there = new Map(destination.catalog.map((entry) => [namespaceOf(entry), entry]));
  const planned = new Map(plan.collections.map((collection) => [namespaceOf(collection), collection]));
  const missed = source.catalog.filter((entry) => {
    const other = there.get(nameThere(entry));
    if (entry.type !== 'collection' || other?.type !== 'collection') return false;
    const known = planned.get(namespaceOf(entry));
    return known?.sourceUuid !== entry.uuid || known.destinationUuid !== other.uuid;
  });
  const unread = unreadSeries(source, destination, remap);
  const series = seriesOn(source).filter((namespace) => unread.has(nameThere(namespaceFrom(namespace))));
  return [
    ...missed.map((entry) => ({
      namespace: shownName(entry),
      reason: 'it was created or recreated while the comparison ran; run it again',
    })),
    ...series.map((namespace) => ({
      namespace,
      reason: 'one side keeps this time series in a form that is not compared: before 6.0, or after 8.2',
    })),
  ];
}

/** The time series of a side, as users know them, whether their buckets can be read or not. */
function seriesOn({ catalog, timeSeries }: CatalogReport): string[] {
  const read = catalog.filter(({ name }) => seriesOf(name) !== null);
  return [...timeSeries, ...read.map(shownName)];
}

/** Time series of both sides that one of them keeps in a form that is not read, by their names on the destination. */
function unreadSeries(source: CatalogReport, destination: CatalogReport, remap: NamespaceRemap): ReadonlySet<string> {
  const there = (namespace: string): string => namespaceOf(remap.toDestination(namespaceFrom(namespace)));
  const onDestination = new Set(seriesOn(destination));
  const unread = new Set([...source.timeSeries.map(there), ...destination.timeSeries]);
  return new Set(
    seriesOn(source)
      .map(there)
      .filter((name) => onDestination.has(name) && unread.has(name)),
  );
}

/** What a migration between the compared clusters has recorded about single indexes. */
interface RecordedChoices {
  choices: IndexChoices;
  skipped: readonly SkippedIndex[];
}

/**
 * The record of the migration on the destination, until its cleanup. Without one, with that of other clusters, or where
 * the user may not read it, every index counts.
 * @throws what the client throws
 */
async function readRecordedChoices({
  source,
  destination,
  retrying,
  signal,
}: ComparisonDependencies): Promise<RecordedChoices> {
  const record = await new MigrationRecords(new Metadata(destination.router, retrying))
    .read(signal)
    .catch((error: unknown): null => {
      if (classify(error) === 'unauthorized') return null;
      throw error;
    });
  if (record === null || !isBetween(record, source.clusterId, destination.clusterId))
    return { choices: {}, skipped: [] };
  const { indexConflicts, indexFailures } = record.options;
  return { choices: { indexConflicts, indexFailures }, skipped: record.skippedIndexes ?? [] };
}

function isBetween({ source, destination }: MigrationRecord, from: string, to: string): boolean {
  return source.clusterId === from && destination.clusterId === to;
}

/**
 * A difference between two namespaces. `ranges`: the chunks of the destination's shard key do not cover it exactly
 * once. `order`: the documents of a capped collection were inserted in another order.
 */
interface NamespaceDifference extends Omit<CatalogDifference, 'kind'> {
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
function compareDefinitions(
  source: CatalogReport,
  destination: CatalogReport,
  deps: DefinitionRules,
): NamespaceDifference[] {
  const comparesKeys = comparesShardKeys(deps);
  const unread = unreadSeries(source, destination, deps.remap);
  const here = source.catalog.filter((entry) => !unread.has(shownName(deps.remap.toDestination(entry))));
  const there = destination.catalog.filter((entry) => !unread.has(shownName(entry)));
  const expected = comparesKeys ? here : withShardKeysOf(here, there, deps.remap);
  const timeSeries = source.timeSeries.map((namespace) =>
    namespaceOf(deps.remap.toDestination(namespaceFrom(namespace))),
  );
  const differences: NamespaceDifference[] = [
    ...compareCatalogs(expected, there, { ...deps, form: 'final', indexScope: 'all' }),
    ...compareTimeSeries(timeSeries, destination.timeSeries, unread),
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

function compareTimeSeries(
  source: readonly string[],
  destination: readonly string[],
  unread: ReadonlySet<string>,
): NamespaceDifference[] {
  // One that is in both lists is unread.
  const missing = source.filter((namespace) => !unread.has(namespace));
  const extra = destination.filter((namespace) => !unread.has(namespace));
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
  return [{ kind: 'ranges', namespace: shownName(entry), detail: 'the ranges of its shard key have gaps or overlaps' }];
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
