import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';
import { runTogether } from '../../async/together.js';
import { BuildsUnderWay } from '../../catalog/index-builds.js';
import {
  awaitsIndexes,
  type LeaderDependencies,
  type MigrationDependencies,
} from '../migration/migration-dependencies.js';
import { allTasks, type MigrationView } from '../../store/migration-view.js';
import { stepDone } from '../migration/steps.js';
import { applyWriteBlock } from '../migration/write-blocks.js';
import { keepBuildsWarning } from './builds.js';
import { followInventory } from './carry.js';
import { drainRounds, finalTotal } from './commit-rounds.js';
import { commit } from './commit.js';
import { DdlLeader } from './ddl-leader.js';
import { beginReverse, initialise } from './initialise.js';

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
  const done = new AbortController();
  await runTogether(signal, [
    async (each) => {
      await leadWith(deps, each);
      done.abort();
    },
    (each) => keepBuildsWarning(deps, done.signal, each),
  ]);
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

/**
 * Interval at which a process that is not the leader checks whether it is now; changes of the fleet wake it as well.
 */
export const leadershipInterval_ms = 500;

/**
 * Does a leader's work under a new epoch. A failure of a leader that another one has replaced fails nobody: its
 * successor does the work.
 * @param work gets the epoch
 * @returns whether the work is done: false, after an interval, once another instance leads
 * @throws what the work of the present leader throws
 */
export async function leadUnlessDeposed(
  { runtime, records }: MigrationDependencies,
  work: (leaderEpoch: number) => Promise<void>,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const leaderEpoch = await records.takeLeaderEpoch(signal);
    await work(leaderEpoch).catch(async (error: unknown) => {
      if (!signal.aborted && !isConvoyError(error, 'staleEpoch')) await records.confirmLeader(leaderEpoch, signal);
      throw error;
    });
    return true;
  } catch (error) {
    if (!isConvoyError(error, 'staleEpoch')) throw error;
    runtime.logger.info({ event: 'leadershipLost' }, 'another instance leads');
    await runtime.clock.sleep(leadershipInterval_ms, signal);
    return false;
  }
}

/** Minimum pause before the indexes are compared again: definitions have changed, or an index waits for documents. */
const buildAgain_ms = 500;

/**
 * Builds the indexes that `buildIndexes` defers, once every task has copied everything. The tasks apply changes
 * meanwhile, and no commit is offered. A later leader repeats it: what exists stays.
 * @throws as `DdlLeader.compare`; `staleEpoch` when another leader has taken over
 */
export async function buildDeferredIndexes(
  deps: LeaderDependencies,
  ddlChanges: DdlLeader,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, watch, records, fleet, leaderEpoch } = deps;
  if (!awaitsIndexes(watch.view.record)) return;
  await watch.until((view) => allTasks(view, ({ copyDone }) => copyDone), signal);
  await records.updateAsLeader(leaderEpoch, { indexBuilds: 'running' }, signal);
  await watch.refresh(signal);
  stepDone('indexBuildsStarted');
  runtime.logger.info({ event: 'indexBuildsStarted' }, 'everything is copied: the leader builds the indexes');
  for (;;) {
    const began_ms = runtime.clock.monotonic_ms();
    if (await ddlChanges.compare(signal, deps.onIndexProgress.bind(deps))) break;
    // A refused build has read its collection: comparing may take at most half of the time.
    await runtime.clock.sleep(Math.max(buildAgain_ms, runtime.clock.monotonic_ms() - began_ms), signal);
  }
  await records.updateAsLeader(leaderEpoch, { indexBuilds: 'done' }, signal);
  await watch.refresh(signal);
  fleet.wake();
  stepDone('indexesBuilt');
  runtime.logger.info({ event: 'indexesBuilt' }, 'the indexes are built');
}
