import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { runTogether } from '../../store/run-together.js';
import { commit } from '../leader/commit.js';
import { drainRounds } from '../leader/commit-rounds.js';
import { DdlLeader } from '../leader/ddl-leader.js';
import { beginReverse } from '../leader/begin-reverse.js';
import { finalTotal } from '../leader/final-total.js';
import { initialise } from '../leader/initialise.js';
import type { MigrationDependencies } from '../migration/migration-dependencies.js';
import { allTasks, type MigrationView } from '../migration/migration-watch.js';
import { stepDone } from '../migration/steps.js';
import { bringBlock } from '../migration/write-blocks.js';

/** A process that is not the leader looks this often whether it has become so; changes of the fleet wake it as well. */
const leadershipInterval_ms = 500;

/** Leads whenever the fleet says so, until the migration is committed; a deposed leader goes back to waiting. */
export async function leadWhenElected(deps: MigrationDependencies, signal: AbortSignal): Promise<void> {
  const { runtime, watch } = deps;
  for (;;) {
    await watch.until((seen) => allTasks(seen, (task) => task.started), signal);
    if (!(await isElected(deps, signal))) return;
    try {
      await lead(deps, signal);
      return;
    } catch (error) {
      if (!(error instanceof ConvoyError) || error.error !== 'staleEpoch') throw error;
      runtime.logger.info({ event: 'leadershipLost' }, 'another instance leads');
      await runtime.clock.sleep(leadershipInterval_ms, signal);
    }
  }
}

/** Resolves with true once this process leads; with false once the migration is committed, after which nothing is left to be led. */
async function isElected({ runtime, fleet, watch }: MigrationDependencies, signal: AbortSignal): Promise<boolean> {
  while (watch.view.record.phase !== 'committed') {
    if (fleet.isLeader()) return true;
    await runtime.clock.sleep(leadershipInterval_ms, signal);
  }
  return false;
}

async function lead(deps: MigrationDependencies, signal: AbortSignal): Promise<void> {
  const { runtime, records } = deps;
  const leaderEpoch = await records.takeLeaderEpoch(signal);
  await untilLeaseIsHeld(deps, leaderEpoch, signal);
  runtime.logger.info({ event: 'leading', leaderEpoch }, 'this instance leads');
  try {
    await leadWith(deps, leaderEpoch, signal);
  } catch (error) {
    // What a leader meets that was deposed is the work of its successor, and fails nobody.
    if (!signal.aborted) await records.confirmLeader(leaderEpoch, signal);
    throw error;
  }
}

/**
 * A process that was frozen before it took the epoch would have the latest one, and lead while another has its lease. One that
 * was slow and gets its lease back goes on with the epoch that it has: nothing is begun anew for it.
 * @throws ConvoyError `staleEpoch` once another has taken a later epoch
 */
async function untilLeaseIsHeld(
  { runtime, fleet, watch }: MigrationDependencies,
  leaderEpoch: number,
  signal: AbortSignal,
): Promise<void> {
  while (!fleet.isLeader()) {
    await runtime.clock.sleep(leadershipInterval_ms, signal);
    const { record } = await watch.refresh(signal);
    if (record.leaderEpoch !== leaderEpoch)
      throw new ConvoyError('staleEpoch', 'Another instance has become the coordinator instance.');
  }
}

async function leadWith(deps: MigrationDependencies, leaderEpoch: number, signal: AbortSignal): Promise<void> {
  const { watch } = deps;
  const view = await watch.refresh(signal);
  // The former leader may have committed since: what operators have changed after that stays as it is.
  if (view.record.phase === 'committed') return;
  if (view.record.phase === 'starting') {
    await initialise(deps, leaderEpoch, signal);
    deps.fleet.wake();
    await watch.refresh(signal);
  }
  if (view.record.phase === 'reversing') {
    await beginReverse(deps, leaderEpoch, signal);
    deps.fleet.wake();
    await watch.refresh(signal);
  }
  if (isFollowing(deps)) await leadSync(deps, leaderEpoch, signal);
  await commit(deps, leaderEpoch, signal);
}

/** Until the commit time is sealed, definition changes are followed. */
function isFollowing({ watch }: MigrationDependencies): boolean {
  const { phase, commit: round } = watch.view.record;
  return phase === 'syncing' || (phase === 'committing' && round?.sealed !== true);
}

async function leadSync(deps: MigrationDependencies, leaderEpoch: number, stop: AbortSignal): Promise<void> {
  const ddlChanges = await DdlLeader.take(deps, leaderEpoch, stop);
  const sealed = new AbortController();
  const untilSealed = async (signal: AbortSignal): Promise<void> => {
    if (deps.watch.view.record.phase === 'syncing') await supervise(deps, leaderEpoch, signal);
    await stopWriters(deps, leaderEpoch, signal);
    await drainRounds(deps, ddlChanges, leaderEpoch, signal);
    sealed.abort();
  };
  const following = AbortSignal.any([stop, sealed.signal]);
  await runTogether(following, [(signal) => ddlChanges.run(signal), untilSealed]).catch((error: unknown) => {
    if (!sealed.signal.aborted) throw error;
  });
}

/** From here on the migration commits: the source refuses the writes of users, where that was asked for. */
async function stopWriters(deps: MigrationDependencies, leaderEpoch: number, signal: AbortSignal): Promise<void> {
  await deps.records.updateAsLeader(leaderEpoch, { phase: 'committing' }, signal);
  stepDone('commitStarted');
  await bringBlock(deps, 'source', signal);
  stepDone('sourceClosed');
}

/**
 * While all sync, keeps the total at the sum of what was copied whenever all have copied everything: collections that come
 * later, and those that are copied anew or dropped, change it again. Ends when every share has been told to commit.
 */
export async function supervise(
  deps: Pick<MigrationDependencies, 'records' | 'watch'>,
  leaderEpoch: number,
  signal: AbortSignal,
): Promise<void> {
  const { watch, records } = deps;
  const isRequested = (view: MigrationView): boolean => allTasks(view, (task) => task.commitRequested);
  const isOtherTotal = (view: MigrationView): boolean =>
    allTasks(view, (task) => task.copyDone) && finalTotal(view).estimatedTotalBytes !== view.record.estimatedTotalBytes;
  for (;;) {
    const view = await watch.until((seen) => isRequested(seen) || isOtherTotal(seen), signal);
    if (isRequested(view)) return;
    await records.updateAsLeader(leaderEpoch, finalTotal(view), signal);
    await watch.refresh(signal);
  }
}
