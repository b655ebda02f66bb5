import { isDeepStrictEqual } from 'node:util';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Timestamp } from 'mongodb';
import type { Catalog } from '../../catalog/namespace.js';
import { compileSelectors } from '../../catalog/namespace-filter.js';
import { timeOf } from '../../cluster/cluster-time.js';
import type { DdlChange } from '../../store/ddl-journal.js';
import { hasPredecessor } from '../../store/epochs.js';
import { SessionFence } from '../../store/session-fence.js';
import { keepsBalancer, sourceShardOf, swapsOf } from '../../store/reversal.js';
import { runTogether } from '../../async/together.js';
import type { DrainedRound, TaskRecord } from '../../store/task-record.js';
import { DdlFollower, type DdlSource, type JournalPosition } from '../task/follow-ddl.js';
import { followedCatalog } from '../task/followed-catalog.js';
import { IdleTasks } from '../leader/idle.js';
import { planOf } from '../leader/initialise.js';
import {
  filterOf,
  type MigrationDependencies,
  readStartCatalog,
  remapOf,
} from '../migration/migration-dependencies.js';
import { type MigrationView, untilOrFor } from '../migration/migration-watch.js';
import { recreateCapped } from '../task/recreate-capped.js';
import { taskCollection, taskCollections } from '../task/task-collections.js';
import { endWhenReplaced, type Replacement } from '../task/task-replaced.js';
import type { TaskStats } from '../stats/task-stats.js';
import { SyncPipeline } from '../task/sync-pipeline.js';
import { isOpeningDecided, isVerified } from '../../store/migration-record.js';
import { VerifiedTask } from '../task/verification-task.js';
import { isStale } from './record-failure.js';

/** Interval at which a task that waits for the end of the commit looks for later source writes. */
const lateWrites_ms = 100;
/** The same while the leader waits for its last look: a stream reaches its time within a few round trips. */
const lastLook_ms = 20;

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
  const replaced = endWhenReplaced(
    owned.map(({ _id }) => _id),
    deps.runtime.logger,
    hard,
  );
  const syncs = owned.map((record) => syncPipeline(deps, record, atStart, journal, owned.length, replaced));
  for (const sync of syncs) await sync.prepare(stop);
  const { commit } = watch.view.record;
  if (commit !== null) for (const sync of syncs) sync.setCeiling(timeOf(commit.time));
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
  if (signal.aborted || isStale(error)) return false;
  return isOpeningDecided((await watch.refresh(signal)).record);
}

/** The DDL journal as a task's process finds it, after its predecessor can no longer write. */
interface FoundJournal {
  done: DdlChange[];
  undone: DdlChange[];
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

/**
 * Drains every commit round; afterwards reports writes that come too late, until the opening is decided.
 * @param before what an earlier process has reported: its late writes stay reported while they are read again
 */
export async function followCommit(
  deps: MigrationDependencies,
  sync: SyncPipeline,
  before: TaskRecord['drained'],
  stop: AbortSignal,
  hard: AbortSignal,
): Promise<void> {
  const { watch, fleet } = deps;
  let drained = 0;
  const isPassed = ({ record }: MigrationView) => isOpeningDecided(record) || (record.commit?.round ?? 0) > drained;
  for (;;) {
    const view = await watch.until((seen) => isPassed(seen) || drained > 0, stop);
    const { commit } = view.record;
    if (isOpeningDecided(view.record)) return;
    if (commit !== null && commit.round > drained) {
      const isSuperseded = () =>
        isOpeningDecided(watch.view.record) || (watch.view.record.commit?.round ?? 0) > commit.round;
      if (!(await sync.drain(timeOf(commit.time), isSuperseded, stop))) continue;
      drained = commit.round;
    }
    const found = drainedRound(drained, sync.stats(), before, view.record.lastLook ?? null);
    // Against what is stored: a router may apply a copy of an earlier report late.
    if (isNews(found, watch.view.tasks.get(sync.taskId)?.drained ?? null)) {
      await deps.taskRecords.update(sync.taskId, sync.epoch, { drained: found }, hard);
      fleet.wake();
    }
    const isLookedAt = (view.record.lastLook ?? null) === null || found.lookedTo !== undefined;
    await untilOrFor(deps, isPassed, isLookedAt ? lateWrites_ms : lastLook_ms, stop);
  }
}

/**
 * Seals the commit time of a task once the leader has. Also while a new owner still drains: what it reads again must
 * not fill its memory.
 */
export async function followSeal(
  { watch }: MigrationDependencies,
  sync: SyncPipeline,
  stop: AbortSignal,
): Promise<void> {
  const { commit } = (await watch.until(({ record }) => record.commit?.sealed === true, stop)).record;
  if (commit !== null) sync.seal(timeOf(commit.time));
}

/** The number of writes above the commit time does not matter, only whether there are any. */
function isNews(found: DrainedRound, reported: DrainedRound | null): boolean {
  const news = ({ eventsAbove, createsAndDrops = 0, ...rest }: DrainedRound): unknown => ({
    ...rest,
    eventsAbove: eventsAbove > 0,
    createsAndDrops: createsAndDrops > 0,
  });
  return reported === null || !isDeepStrictEqual(news(reported), news(found));
}

function drainedRound(
  round: number,
  stats: TaskStats,
  before: TaskRecord['drained'],
  lastLook: Timestamp | null,
): DrainedRound {
  const { writesAbove, readBelow } = stats;
  const same = before?.round === round ? before : null;
  const createsAndDrops = Math.max(writesAbove.createsAndDrops, same?.createsAndDrops ?? 0);
  return {
    round,
    eventsAbove: Math.max(writesAbove.writes, same?.eventsAbove ?? 0),
    ...(createsAndDrops > 0 && { createsAndDrops }),
    deletedIn: [...new Set([...(same?.deletedIn ?? []), ...writesAbove.deletedIn])].sort(),
    ...(lastLook !== null && readBelow > timeOf(lastLook) && { lookedTo: lastLook }),
  };
}
