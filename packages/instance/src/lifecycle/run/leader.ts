import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { BuildsUnderWay } from '../../catalog/make/builds-under-way.js';
import { runTogether } from '../../async/together.js';
import { commit } from '../leader/commit.js';
import { drainRounds } from '../leader/commit-rounds.js';
import { DdlLeader } from '../leader/ddl-leader.js';
import { buildDeferredIndexes } from '../leader/deferred-indexes.js';
import { beginReverse } from '../leader/begin-reverse.js';
import { followInventory } from '../leader/follow-inventory.js';
import { finalTotal } from '../leader/final-total.js';
import { initialise } from '../leader/initialise.js';
import { warningOfBuilds } from '../leader/lasting-builds.js';
import { leadershipInterval_ms, leadUnlessDeposed } from '../leader/lead-unless-deposed.js';
import type { LeaderDependencies, MigrationDependencies } from '../migration/migration-dependencies.js';
import { allTasks, type MigrationView } from '../migration/migration-watch.js';
import { stepDone } from '../migration/steps.js';
import { applyWriteBlock } from '../migration/write-blocks.js';

/** Leads whenever the fleet elects this process, until the migration is committed; a deposed leader waits again. */
export async function leadWhenElected(deps: MigrationDependencies, signal: AbortSignal): Promise<void> {
  for (;;) {
    await deps.watch.until((seen) => allTasks(seen, (task) => task.started), signal);
    if (!(await isElected(deps, signal))) return;
    const builds = new BuildsUnderWay(deps.runtime.clock);
    if (await leadUnlessDeposed(deps, (leaderEpoch) => lead({ ...deps, leaderEpoch, builds }, signal), signal)) return;
  }
}

/** Resolves with true once this process leads; with false once the migration is committed, when no leader is needed. */
async function isElected({ runtime, fleet, watch }: MigrationDependencies, signal: AbortSignal): Promise<boolean> {
  while (watch.view.record.phase !== 'committed') {
    if (fleet.isLeader()) return true;
    await runtime.clock.sleep(leadershipInterval_ms, signal);
  }
  return false;
}

async function lead(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  await untilLeaseIsHeld(deps, signal);
  const { runtime, leaderEpoch } = deps;
  runtime.logger.info({ event: 'leading', leaderEpoch }, 'this instance leads');
  await warningOfBuilds(deps, (each) => leadWith(deps, each), signal);
}

/**
 * Waits for the lease. Otherwise a process that was frozen before it took the epoch would lead while another has the
 * lease. A slow process that gets its lease back continues with its epoch.
 * @throws ConvoyError `staleEpoch` once another process has taken a later epoch
 */
async function untilLeaseIsHeld(
  { runtime, fleet, watch, leaderEpoch }: LeaderDependencies,
  signal: AbortSignal,
): Promise<void> {
  while (!fleet.isLeader()) {
    await runtime.clock.sleep(leadershipInterval_ms, signal);
    const { record } = await watch.refresh(signal);
    if (record.leaderEpoch !== leaderEpoch) throw new ConvoyError('staleEpoch', 'Another instance now leads.');
  }
}

async function leadWith(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { watch, fleet } = deps;
  const { phase } = (await watch.refresh(signal)).record;
  // The former leader may have committed since: later changes of operators stay.
  if (phase === 'committed') return;
  if (phase === 'starting' || phase === 'reversing') {
    await (phase === 'starting' ? initialise : beginReverse)(deps, signal);
    fleet.wake();
    await watch.refresh(signal);
  }
  if (isFollowing(deps)) await leadSync(deps, signal);
  await commit(deps, signal);
}

/** The leader follows DDL changes until the commit time is sealed. */
function isFollowing({ watch }: MigrationDependencies): boolean {
  const { phase, commit: round } = watch.view.record;
  return phase === 'syncing' || (phase === 'committing' && round?.sealed !== true);
}

async function leadSync(deps: LeaderDependencies, stop: AbortSignal): Promise<void> {
  const ddlChanges = await DdlLeader.take(deps, stop);
  const sealed = new AbortController();
  const untilSealed = async (signal: AbortSignal) => {
    if (deps.watch.view.record.phase === 'syncing')
      await runTogether(signal, [
        (each) => supervise(deps, each),
        (each) => buildDeferredIndexes(deps, ddlChanges, each),
      ]);
    await stopWriters(deps, signal);
    await drainRounds(deps, ddlChanges, signal);
    sealed.abort();
  };
  const following = AbortSignal.any([stop, sealed.signal]);
  await runTogether(following, [
    (signal) => ddlChanges.run(signal),
    untilSealed,
    (signal) => followInventory(deps, signal),
  ]).catch((error: unknown) => {
    if (!sealed.signal.aborted) throw error;
  });
}

/** The migration commits from here on: the source refuses user writes, where requested. */
async function stopWriters(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  await deps.records.updateAsLeader(deps.leaderEpoch, { phase: 'committing' }, signal);
  stepDone('commitStarted');
  await applyWriteBlock(deps, 'source', signal);
  stepDone('sourceBlocked');
}

/**
 * Keeps the total at the sum of all copied bytes, whenever all tasks have copied everything. Later collections,
 * repeated copies and drops change it again. Ends when every task has taken the command to commit.
 */
export async function supervise(
  { watch, records, leaderEpoch }: LeaderDependencies,
  signal: AbortSignal,
): Promise<void> {
  const isRequested = (view: MigrationView) => allTasks(view, (task) => task.commitRequested);
  const isOtherTotal = (view: MigrationView) =>
    allTasks(view, (task) => task.copyDone) && finalTotal(view).estimatedTotalBytes !== view.record.estimatedTotalBytes;
  for (;;) {
    const view = await watch.until((seen) => isRequested(seen) || isOtherTotal(seen), signal);
    if (isRequested(view)) return;
    await records.updateAsLeader(leaderEpoch, finalTotal(view), signal);
    await watch.refresh(signal);
  }
}
