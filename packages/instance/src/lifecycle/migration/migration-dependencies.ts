import type { Fleet } from '@convoy/api/fleet/fleet';
import type { BuildsUnderWay, IndexBuildProgress } from '../../catalog/index-builds.js';
import { finalIndexScope, type IndexScope, isBuiltAfterCopy, type PlannedIndexes } from '../../catalog/index-plan.js';
import { compileNamespaceFilter, type NamespaceFilter } from '../../catalog/namespace-filter.js';
import { compileNamespaceRemap, type NamespaceRemap } from '../../catalog/namespace-remap.js';
import { timeAboveAll, wakeStreams } from '../../cluster/cluster-time.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { DdlJournal } from '../../store/ddl-journal.js';
import { Metadata } from '../../store/metadata.js';
import { type MigrationRecord, MigrationRecords } from '../../store/migration-record.js';
import { type TaskRecord, TaskRecords } from '../../store/task-record.js';
import type { MigrationView } from '../../store/migration-view.js';
import { MigrationWatch } from '../../store/migration-watch.js';
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

/** What decides about the indexes that the destination should have now. */
export function plannedIndexes(record: MigrationRecord): PlannedIndexes {
  return { indexScope: indexScopeOf(record), skipped: record.skippedIndexes };
}

/** The indexes that the destination should have now. */
export function indexScopeOf({ options, indexBuilds }: MigrationRecord): IndexScope {
  const isDeferred = isBuiltAfterCopy(options.buildIndexes) && indexBuilds === undefined;
  return isDeferred ? 'shardKey' : finalIndexScope(options.buildIndexes);
}

/** Whether indexes that are built after the copy are still missing. */
export function awaitsIndexes({ options, indexBuilds }: MigrationRecord): boolean {
  return isBuiltAfterCopy(options.buildIndexes) && indexBuilds !== 'done';
}

/**
 * Sets the warning of a name in the migration's record; writes only what is news.
 * @param description null when there is nothing to warn of any more
 */
export async function recordWarning(
  deps: LeaderDependencies,
  name: string,
  description: string | null,
  signal: AbortSignal,
): Promise<void> {
  // One after the other: each replaces the whole list.
  const turn = (turns.get(deps.watch) ?? Promise.resolve()).then(() => setWarning(deps, name, description, signal));
  turns.set(
    deps.watch,
    turn.catch(() => undefined),
  );
  await turn;
}

/** The last change of each process's warnings. */
const turns = new WeakMap<object, Promise<unknown>>();

async function setWarning(
  { records, watch, leaderEpoch }: LeaderDependencies,
  name: string,
  description: string | null,
  signal: AbortSignal,
): Promise<void> {
  const known = watch.view.record.warnings.find((warning) => warning.name === name)?.description ?? null;
  if (known === description) return;
  const { record } = await watch.refresh(signal);
  const others = record.warnings.filter((warning) => warning.name !== name);
  await records.updateAsLeader(
    leaderEpoch,
    { warnings: description === null ? others : [...others, { name, description }] },
    signal,
  );
  await watch.refresh(signal);
}
