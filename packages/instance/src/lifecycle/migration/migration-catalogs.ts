import type { Warning } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { shownName } from '../../cluster/time-series.js';
import { restoredEntry } from '../../catalog/catalog-bytes.js';
import { withChosenIndexes } from '../../catalog/chosen-indexes.js';
import { type CatalogChange, catalogChanges, type CompareOptions } from '../../catalog/compare-catalogs.js';
import { applyShardingEntries, type DestinationPlan, planDestination } from '../../catalog/destination-plan.js';
import { isIdIndex } from '../../catalog/index-spec.js';
import { hasAnyDocument } from '../../catalog/list-namespaces.js';
import { nameSome } from '../../catalog/name-some.js';
import type { NamespaceRemap } from '../../catalog/namespace-remap.js';
import { type Catalog, type CatalogEntry, namespaceOf } from '../../catalog/namespace.js';
import { readCatalogReport } from '../../catalog/read-catalog.js';
import { refuseUnsupported } from '../../catalog/unsupported-collections.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { Metadata } from '../../store/metadata.js';
import type { MigrationRecord } from '../../store/migration-record.js';
import { readStoredEntries } from '../../store/task-storage.js';
import {
  type BothClusters,
  filterOf,
  type MigrationDependencies,
  plannedIndexes,
  remapOf,
} from './migration-dependencies.js';
import { MigrationWatch } from '../../store/migration-watch.js';

/** The source's catalog as it was when the migration began, once initialized. */
export async function readStartCatalog(deps: MigrationDependencies, signal: AbortSignal): Promise<Catalog> {
  const { catalogEpoch } = deps.watch.view.record;
  if (catalogEpoch === null) throw new ConvoyError('internalError', 'The migration is not initialised.');
  return (await readStoredEntries(deps.metadata, catalogEpoch, signal)).map(restoredEntry);
}

/** The source's catalog at the commit, once the commit time is sealed. */
export async function readCommittedCatalog(
  deps: { watch: Pick<MigrationWatch, 'view'>; metadata: Metadata },
  signal: AbortSignal,
): Promise<Catalog> {
  const catalogEpoch = deps.watch.view.record.commit?.catalogEpoch ?? null;
  if (catalogEpoch === null) throw new ConvoyError('internalError', 'The commit time is not sealed.');
  return (await readStoredEntries(deps.metadata, catalogEpoch, signal, 'committedCollections')).map(restoredEntry);
}

/**
 * The destination's catalog as it is now: everything under a name that an included namespace has there. An index that
 * differs between its shards is among `inconsistentIndexes`.
 */
export async function readDestinationCatalog(
  { runtime, destination, watch }: MigrationDependencies,
  signal: AbortSignal,
): Promise<Catalog> {
  const filter = remapOf(watch.view.record).filterOnDestination(filterOf(watch.view.record));
  const report = await runtime.retrying(
    'read the destination catalog',
    () => readCatalogReport(destination, filter, signal),
    signal,
  );
  return report.catalog.map((entry) => {
    const inconsistentIndexes = report.inconsistentIndexes.filter(
      ({ namespace, index }) => namespace === shownName(entry) && !isIdIndex({ name: index }),
    );
    if (inconsistentIndexes.length === 0) return entry;
    const names = new Set(inconsistentIndexes.map(({ index }) => index));
    return { ...entry, inconsistentIndexes, indexes: entry.indexes.filter(({ name }) => !names.has(name as string)) };
  });
}

/** How the destination's definitions of a migration are compared with the source's. */
export function comparisonOf(
  { destination, watch }: MigrationDependencies,
  form: CompareOptions['form'],
): CompareOptions {
  const { record } = watch.view;
  return { form, ...plannedIndexes(record), remap: remapOf(record), destination };
}

/** What to create on the destination for a catalog. */
export function planOf(deps: MigrationDependencies, catalog: Catalog): DestinationPlan {
  const { source, destination, watch } = deps;
  const { record } = watch.view;
  return planDestination(catalog, { source, destination, ...plannedIndexes(record), remap: remapOf(record) });
}

/** Adds the requested shard keys to a catalog; requests for other collections are ignored. */
export function withRequestedSharding(deps: MigrationDependencies, catalog: Catalog): Catalog {
  const { record } = deps.watch.view;
  const { sharding } = record.options;
  if (sharding === undefined) return catalog;
  const names = new Set(catalog.map(shownName));
  const shardingEntries = sharding.shardingEntries.filter(({ database, collection }) =>
    names.has(`${database}.${collection}`),
  );
  return applyShardingEntries(catalog, { ...sharding, shardingEntries }, filterOf(record));
}

/** Warns of collections in `shardingEntries` that are gone under their names since the start was checked. */
export function absentRequests(deps: MigrationDependencies, catalog: Catalog): Warning[] {
  const requested = deps.watch.view.record.options.sharding?.shardingEntries ?? [];
  const names = new Set(catalog.map(shownName));
  const absent = requested
    .map(({ database, collection }) => `${database}.${collection}`)
    .filter((namespace) => !names.has(namespace));
  if (absent.length === 0) return [];
  return [
    {
      name: 'shardingEntryAbsent',
      description:
        'Users renamed or dropped these collections of shardingEntries right after the start: ' +
        `${nameSome(absent)}. Renamed ones stay unsharded; to shard them, clean up and start again.`,
    },
  ];
}

/** What has become of the source's catalog since the commit time. */
interface CatalogSince {
  /** The source's catalog now. */
  now: Catalog;
  /** What no move explains; a collection that somebody has emptied counts as dropped. */
  changes: CatalogChange[];
}

/**
 * What has changed in the source's catalog since the commit time, but for collections that moved to other shards:
 * `movePrimary` creates the unsharded ones of a database anew, with other UUIDs and the same documents, and drops the
 * former ones; `moveCollection`, and a resharding to the same key, put a copy in the place of one. Streams show these
 * creations and drops, and that something was resharded, not the documents. A collection that a user has dropped and
 * created again has documents only by writes that streams show. So one with documents, and no such write, was moved.
 * @param record of a committed migration, or of one that is about to be
 * @param committed the source's catalog at the commit time
 */
export async function catalogSince(
  clusters: BothClusters,
  record: MigrationRecord,
  committed: Catalog,
  signal: AbortSignal,
): Promise<CatalogSince> {
  const { runtime, source } = clusters;
  const found = await runtime.retrying(
    'read the source catalog',
    () => readCatalogReport(source, filterOf(record), signal),
    signal,
  );
  const { report } = withChosenIndexes(found, record.options);
  refuseUnsupported(report);
  const now = new Map(report.catalog.map((entry) => [namespaceOf(entry), entry]));
  const replaced: CatalogEntry[] = [];
  const expected = committed.map((entry) => {
    const present = now.get(namespaceOf(entry));
    if (present === undefined || present.uuid === entry.uuid) return entry;
    replaced.push(entry);
    return { ...entry, uuid: present.uuid };
  });
  const changes = catalogChanges(expected, report.catalog).filter(
    ({ kind }) => kind !== 'primaryShard' && kind !== 'chunksMoved',
  );
  const remap = remapOf(record);
  if (changes.length === 0)
    for (const entry of replaced)
      if (await isEmptied(clusters, remap, entry, signal)) changes.push({ kind: 'dropped', entry });
  return { now: report.catalog, changes };
}

/**
 * The source's catalog now, if since the commit time collections only moved to other shards.
 * @returns null when users have changed definitions, or have emptied a collection
 */
export async function movedCatalog(...args: Parameters<typeof catalogSince>): Promise<Catalog | null> {
  const { now, changes } = await catalogSince(...args);
  return changes.length === 0 ? now : null;
}

/** Whether the source's collection of this name has no document, though the destination's has one. */
async function isEmptied(
  clusters: BothClusters,
  remap: NamespaceRemap,
  entry: CatalogEntry,
  signal: AbortSignal,
): Promise<boolean> {
  const { runtime, source, destination } = clusters;
  const hasDocuments = ({ router }: ClusterClient, collection: Pick<CatalogEntry, 'database' | 'name'>) =>
    runtime.retrying('look for documents', () => hasAnyDocument(router, collection, signal), signal);
  if (await hasDocuments(source, entry)) return false;
  return hasDocuments(destination, remap.onDestination(entry));
}
