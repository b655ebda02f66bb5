import { isDeepStrictEqual } from 'node:util';
import type { Timestamp } from 'mongodb';
import { timeOf } from '../../cluster/cluster-time.js';
import { isOpeningDecided } from '../../store/migration-record.js';
import { checkDrained } from '../../store/state-rules.js';
import type { DrainedRound, TaskRecord } from '../../store/task-record.js';
import type { MigrationDependencies } from '../migration/migration-dependencies.js';
import type { MigrationView } from '../../store/migration-view.js';
import { untilOrFor } from '../../store/migration-watch.js';
import { SyncPipeline } from './sync-pipeline.js';
import type { TaskStats } from './task-stats.js';

/** Interval at which a task that waits for the end of the commit looks for later source writes. */
const lateWrites_ms = 100;
/** The same while the leader waits for what streams show up to a time: they reach it within a few round trips. */
const awaited_ms = 20;

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
  const { watch } = deps;
  let drained = 0;
  const isPassed = ({ record }: MigrationView) => isOpeningDecided(record) || (record.commit?.round ?? 0) > drained;
  for (;;) {
    if (drained === 0) await watch.until(isPassed, stop);
    const { record } = watch.view;
    const { commit, lastLook = null } = record;
    if (isOpeningDecided(record)) return;
    if (commit !== null && commit.round > drained) {
      const isSuperseded = () =>
        isOpeningDecided(watch.view.record) || (watch.view.record.commit?.round ?? 0) > commit.round;
      if (!(await sync.drain(timeOf(commit.time), isSuperseded, stop))) continue;
      drained = commit.round;
    }
    const found = drainedRound(drained, sync.stats(), before, lastLook);
    checkDrained(before, found);
    await reportLateWrites(deps, sync, found, hard);
    const isAwaited = lastLook !== null && found.lookedTo === undefined;
    await untilOrFor(deps, isPassed, isAwaited ? awaited_ms : lateWrites_ms, stop);
  }
}

/** Stores the drained round of a task, with its late writes as far as they are read, if the record lacks any of it. */
async function reportLateWrites(
  { watch, taskRecords, fleet }: MigrationDependencies,
  { taskId, epoch }: SyncPipeline,
  found: DrainedRound,
  hard: AbortSignal,
): Promise<void> {
  // Against what is stored: a router may apply a copy of an earlier report late.
  if (!isNews(found, watch.view.tasks.get(taskId)?.drained ?? null)) return;
  await taskRecords.update(taskId, epoch, { drained: found }, hard);
  fleet.wake();
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
  upTo: Timestamp | null,
): DrainedRound {
  const { lateWrites, readBelow } = stats;
  const same = before?.round === round ? before : null;
  const createsAndDrops = Math.max(lateWrites.createsAndDrops, same?.createsAndDrops ?? 0);
  return {
    round,
    eventsAbove: Math.max(lateWrites.writes, same?.eventsAbove ?? 0),
    ...(createsAndDrops > 0 && { createsAndDrops }),
    deletedIn: [...new Set([...(same?.deletedIn ?? []), ...lateWrites.deletedIn])].sort(),
    ...(upTo !== null && readBelow > timeOf(upTo) && { lookedTo: upTo }),
  };
}
