import { setMaxListeners } from 'node:events';
import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';
import { listenersMax, runTogether } from '../../async/together.js';
import { compileSelectors } from '../../catalog/namespace-filter.js';
import type { Catalog } from '../../catalog/namespace.js';
import { timeOf } from '../../cluster/cluster-time.js';
import type { Logger } from '../../logging/logger.js';
import type { DdlEntry } from '../../store/ddl-journal.js';
import { hasPredecessor, SessionFence } from '../../store/fence.js';
import { isOpeningDecided, isVerified } from '../../store/migration-record.js';
import { keepsBalancer, sourceShardOf, swapsOf } from '../../store/reversal.js';
import type { TaskRecord } from '../../store/task-record.js';
import { planOf, readStartCatalog } from '../migration/migration-catalogs.js';
import { filterOf, type MigrationDependencies, remapOf } from '../migration/migration-dependencies.js';
import { IdleTasks } from '../../store/migration-view.js';
import { recreateCapped } from './copy-plans.js';
import { followCommit, followSeal } from './follow-commit.js';
import { followedCatalog } from './followed-collections.js';
import { SyncPipeline } from './sync-pipeline.js';
import { taskCollection, taskCollections } from './task-collections.js';
import { DdlFollower, type DdlSource, type JournalPosition } from './task-ddl.js';
import { VerifiedTask } from './verification-task.js';

/**
 * Syncs this process's tasks until the opening of the destination is decided.
 * @param onSyncs receives the tasks' pipelines and verifiers as soon as they exist, for progress
 * @param stop ends the work cleanly (pause, end of the process)
 * @param hard ends it at once
 */
export async function syncTasks(
  deps: MigrationDependencies,
  owned: readonly TaskRecord[],
  onSyncs: (syncs: readonly SyncPipeline[], verified: readonly VerifiedTask[]) => void,
  stop: AbortSignal,
  hard: AbortSignal,
): Promise<void> {
  const { watch } = deps;
  await watch.until(({ record }) => record.phase !== 'starting' && record.phase !== 'reversing', stop);
  const atStart = await readStartCatalog(deps, stop);
  for (const record of owned) await fenceFormerOwner(deps, record, stop);
  const journal = await readJournal(deps, stop);
  const replaced = replacementOf(
    owned.map(({ _id }) => _id),
    deps.runtime.logger,
    hard,
  );
  const syncs = owned.map((record) => syncPipeline(deps, record, atStart, journal, owned.length, replaced));
  for (const sync of syncs) await sync.prepare(stop);
  const { commit } = watch.view.record;
  if (commit !== null) for (const sync of syncs) sync.setCommitTime(timeOf(commit.time));
  const verified = isVerified(watch.view.record)
    ? syncs.map(
        (sync, index) =>
          new VerifiedTask(deps, sync, owned[index]?.verification ?? null, owned.length, replaced.signal),
      )
    : [];
  onSyncs(syncs, verified);
  const done = new AbortController();
  const ending = AbortSignal.any([stop, done.signal]);
  const follow = async (signal: AbortSignal) => {
    await runTogether(
      signal,
      syncs.map(
        (sync, index) => (each: AbortSignal) =>
          followCommit(deps, sync, owned[index]?.drained ?? null, each, replaced.signal),
      ),
    );
    done.abort();
  };
  const ddlChanges = syncs.map((sync, index) => {
    const follower = new DdlFollower(sync, ddlSource(deps), {
      ...journal.position,
      acknowledged: owned[index]?.acknowledged ?? 0,
    });
    return (signal: AbortSignal) => follower.run(signal);
  });
  const work = [
    ...syncs.map((sync) => (signal: AbortSignal) => sync.run(signal)),
    ...ddlChanges,
    ...verified.map((task) => (signal: AbortSignal) => task.run(signal)),
    ...syncs.map((sync) => (signal: AbortSignal) => followSeal(deps, sync, signal)),
    follow,
  ];
  await runTogether(ending, work, replaced.onFailure).catch(async (error: unknown) => {
    if (!done.signal.aborted && !(await isOfNoMatter(error, watch, stop))) throw error;
  });
}

/** Once the opening is decided, failures of a source that goes away do not matter. */
export async function isOfNoMatter(
  error: unknown,
  watch: MigrationDependencies['watch'],
  signal: AbortSignal,
): Promise<boolean> {
  if (signal.aborted || isConvoyError(error, 'staleEpoch')) return false;
  return isOpeningDecided((await watch.refresh(signal)).record);
}

/** The DDL journal as a task's process finds it, after its predecessor can no longer write. */
interface FoundJournal {
  done: DdlEntry[];
  undone: DdlEntry[];
  position: Omit<JournalPosition, 'acknowledged'>;
}

async function readJournal({ watch, journal }: MigrationDependencies, signal: AbortSignal): Promise<FoundJournal> {
  const { record } = await watch.refresh(signal);
  const { known, done } = record.ddlChanges;
  const ddlChanges = await journal.readAfter(0, known, signal);
  return {
    done: ddlChanges.filter(({ ordinal }) => ordinal <= done),
    undone: ddlChanges.filter(({ ordinal }) => ordinal > done),
    position: { read: known, taken: done },
  };
}

function ddlSource({ watch, journal, fleet }: MigrationDependencies): DdlSource {
  return {
    news: () => watch.journalled,
    until: async (condition, signal) => {
      await watch.until(() => condition(watch.journalled), signal);
    },
    readAfter: (ordinal, known, signal) => journal.readAfter(ordinal, known, signal),
    wake: () => fleet.wake(),
  };
}

function syncPipeline(
  deps: MigrationDependencies,
  record: TaskRecord,
  atStart: Catalog,
  journal: FoundJournal,
  tasks: number,
  replaced: Replacement,
): SyncPipeline {
  const { runtime, source, destination, metadata, taskRecords, watch } = deps;
  const migration = watch.view.record;
  const choice = {
    filter: filterOf(migration),
    remap: remapOf(migration),
    order: {
      requested: compileSelectors(migration.options.copyInNaturalOrder ?? []),
      detects: migration.options.detectRandomId === true,
      readsPrimary: runtime.config.readPreference === 'primary',
    },
  };
  if (migration.startTime === null) throw new ConvoyError('internalError', 'The migration has no start time.');
  const { entries, known } = followedCatalog(atStart, journal.done);
  const shardId = sourceShardOf(migration, record._id);
  return new SyncPipeline(
    {
      runtime,
      source,
      destination,
      metadata,
      records: taskRecords,
      record,
      shardId,
      collections: taskCollections(entries, shardId, source, choice, keepsBalancer(migration)),
      known,
      undone: journal.undone,
      startTime: timeOf(migration.startTime),
      beginsCopied: swapsOf(migration) > 0,
      bytesMax: Math.floor(runtime.config.memoryBytesMax / tasks),
      filter: choice.filter,
      remap: choice.remap,
      taskOf: (followed) => taskCollection(followed, shardId, source, choice, keepsBalancer(migration)),
      onFailure: replaced.onFailure,
      fleet: deps.fleet,
      patience: new IdleTasks(watch, runtime.clock),
      recreate: async (entry, confirm, signal) => {
        const [plan] = planOf(deps, [entry]).collections;
        if (plan === undefined) throw new ConvoyError('internalError', 'A capped collection cannot be recreated.');
        await recreateCapped({ destination, confirm }, plan, runtime.retrying, signal);
      },
    },
    replaced.signal,
  );
}

/** A task that had an owner before: from here on the servers refuse that owner's late writes. */
async function fenceFormerOwner(deps: MigrationDependencies, record: TaskRecord, signal: AbortSignal): Promise<void> {
  const { destination, runtime, watch } = deps;
  if (!hasPredecessor(watch.view.record, record.epoch)) return;
  const sessions = record.sessions.map((session) => session.value());
  await new SessionFence(destination, runtime.retrying).stopFormerOwner(sessions, record.epoch, signal);
}

/** How a process ends its work on sync tasks that another process has taken. */
export interface Replacement {
  /** Receives every failure of the work. */
  onFailure: (error: unknown) => void;
  /**
   * Aborted with `hard`, and once another process owns the tasks. Writes in flight are then abandoned, because the
   * servers refuse them.
   */
  signal: AbortSignal;
}

/**
 * Aborts everything in flight, and logs it, when another process has raised the epoch of the tasks, for example during
 * a long freeze.
 */
export function replacementOf(taskIds: readonly string[], logger: Logger, hard: AbortSignal): Replacement {
  const replaced = new AbortController();
  const signal = AbortSignal.any([hard, replaced.signal]);
  setMaxListeners(listenersMax, signal);
  return {
    onFailure: (error) => {
      if (replaced.signal.aborted || !isConvoyError(error, 'staleEpoch')) return;
      logger.warn(
        { event: 'tasksTakenOver', tasks: taskIds },
        'another process owns the sync tasks; this one stops work on them at once',
      );
      replaced.abort(error);
    },
    signal,
  };
}
