import type { Warning } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Fleet } from '@convoy/api/fleet/fleet';
import { nameSome } from '../../catalog/name-some.js';
import { type Catalog, namespaceOf } from '../../catalog/namespace.js';
import { isIdIndex } from '../../catalog/index-spec.js';
import { compileNamespaceFilter, type NamespaceFilter } from '../../catalog/namespace-filter.js';
import { compileNamespaceRemap, type NamespaceRemap } from '../../catalog/namespace-remap.js';
import type { CompareOptions } from '../../catalog/plan/compare-catalogs.js';
import { readCatalogReport } from '../../catalog/read/read-catalog.js';
import { applyShardingEntries } from '../../catalog/plan/sharding-plan.js';
import { restoredEntry } from '../../catalog/stored-catalog.js';
import type { BuildsUnderWay } from '../../catalog/make/builds-under-way.js';
import type { IndexBuildProgress } from '../../catalog/make/index-builds.js';
import { timeAboveAll, wakeStreams } from '../../cluster/cluster-time.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { DdlJournal } from '../../store/ddl-journal.js';
import { Metadata } from '../../store/metadata.js';
import { MigrationRecords, type MigrationRecord } from '../../store/migration-record.js';
import { type TaskRecord, TaskRecords } from '../../store/task-record.js';
import { readStoredEntries } from '../../store/task-storage.js';
import { plannedIndexes } from './index-scope.js';
import { type MigrationView, MigrationWatch } from './migration-watch.js';
import type { Runtime } from './runtime.js';

/** What the parts of one migration share within a process. */
export interface MigrationDependencies {
  runtime: Runtime;
  fleet: Fleet;
  source: ClusterClient;
  destination: ClusterClient;
  metadata: Metadata;
  records: MigrationRecords;
  taskRecords: TaskRecords;
  journal: DdlJournal;
  watch: MigrationWatch;
  /** The leader's process calls it while it creates collections and indexes. */
  onIndexProgress(progress: IndexBuildProgress): void;
}

/** What the leader of a migration has; its writes change nothing once another epoch is recorded. */
export interface LeaderDependencies extends MigrationDependencies {
  leaderEpoch: number;
  /** The index builds that it waits for now. */
  builds: BuildsUnderWay;
}

/** Both clusters of a direction, and how calls to them are repeated. */
export type BothClusters = Pick<MigrationDependencies, 'runtime' | 'source' | 'destination'>;

/** One process's part in one direction of a migration. */
export interface MigrationPart extends BothClusters {
  fleet: Fleet;
  /** The cluster with the migration's state. */
  home: ClusterClient;
  /** The sync tasks of this process. */
  ownIds: readonly string[];
  owner: TaskRecord['owner'];
  initial: MigrationView;
}

/** The parts of a migration within a process, on the migration's stored state. */
export function dependenciesOf(
  { runtime, fleet, source, destination, home, ownIds, initial }: MigrationPart,
  onIndexProgress: MigrationDependencies['onIndexProgress'],
): MigrationDependencies {
  const metadata = new Metadata(home.router, runtime.retrying);
  const records = new MigrationRecords(metadata);
  const taskRecords = new TaskRecords(metadata);
  const journal = new DdlJournal(metadata, records);
  const watch = new MigrationWatch(records, taskRecords, fleet, runtime, initial, ownIds);
  return { runtime, fleet, source, destination, metadata, records, taskRecords, journal, watch, onIndexProgress };
}

/** A cluster time above every earlier write on the source. */
export function sourceTimeAboveAll({ runtime, source }: BothClusters, signal: AbortSignal): Promise<bigint> {
  return runtime.retrying('take a time of the source', () => timeAboveAll(source, { signal }), signal);
}

/** Advances the streams of the source's idle shards. */
export function wakeSource({ runtime, source }: BothClusters, signal: AbortSignal): Promise<void> {
  return runtime.retrying('wake idle shards', () => wakeStreams(source, { signal }), signal);
}

/** The filter of a migration's options. */
export function filterOf(record: MigrationRecord): NamespaceFilter {
  return compileNamespaceFilter(record.options);
}

/** The names of a migration's collections on the destination. */
export function remapOf(record: MigrationRecord): NamespaceRemap {
  return compileNamespaceRemap(record.options.namespaceRemap);
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
      ({ namespace, index }) => namespace === namespaceOf(entry) && !isIdIndex({ name: index }),
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

/** Adds the requested shard keys to a catalog; requests for other collections are ignored. */
export function withRequestedSharding(deps: MigrationDependencies, catalog: Catalog): Catalog {
  const { record } = deps.watch.view;
  const { sharding } = record.options;
  if (sharding === undefined) return catalog;
  const names = new Set(catalog.map(namespaceOf));
  const shardingEntries = sharding.shardingEntries.filter(({ database, collection }) =>
    names.has(`${database}.${collection}`),
  );
  return applyShardingEntries(catalog, { ...sharding, shardingEntries }, filterOf(record));
}

/** Warns of collections in `shardingEntries` that are gone under their names since the start was checked. */
export function absentRequests(deps: MigrationDependencies, catalog: Catalog): Warning[] {
  const requested = deps.watch.view.record.options.sharding?.shardingEntries ?? [];
  const names = new Set(catalog.map(namespaceOf));
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
