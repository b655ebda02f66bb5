import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { runTogether } from '../../store/run-together.js';
import { commit } from '../leader/commit.js';
import { drainRounds } from '../leader/commit-rounds.js';
import { DefinitionLeader } from '../leader/definition-leader.js';
import { beginReverse } from '../leader/begin-reverse.js';
import { finalTotal } from '../leader/final-total.js';
import { initialise } from '../leader/initialise.js';
import type { MigrationContext } from '../migration/migration-context.js';
import { allShares, type MigrationView } from '../migration/migration-watch.js';
import { stepDone } from '../migration/steps.js';
import { bringBlock } from '../migration/write-blocks.js';

/** A process that is not the leader looks this often whether it has become so; changes of the fleet wake it as well. */
const leadershipInterval_ms = 500;

/** Leads whenever the fleet says so, until the migration is committed; a deposed leader goes back to waiting. */
export async function leadWhenElected(context: MigrationContext, signal: AbortSignal): Promise<void> {
  const { runtime, watch } = context;
  for (;;) {
    await watch.until((seen) => allShares(seen, (share) => share.started), signal);
    if (!(await isElected(context, signal))) return;
    try {
      await lead(context, signal);
      return;
    } catch (error) {
      if (!(error instanceof ConvoyError) || error.error !== 'staleEpoch') throw error;
      runtime.logger.info({ event: 'leadershipLost' }, 'another instance leads');
      await runtime.clock.sleep(leadershipInterval_ms, signal);
    }
  }
}

/** Resolves with true once this process leads; with false once the migration is committed, after which nothing is left to be led. */
async function isElected({ runtime, fleet, watch }: MigrationContext, signal: AbortSignal): Promise<boolean> {
  while (watch.view.record.phase !== 'committed') {
    if (fleet.isLeader()) return true;
    await runtime.clock.sleep(leadershipInterval_ms, signal);
  }
  return false;
}

async function lead(context: MigrationContext, signal: AbortSignal): Promise<void> {
  const { runtime, records } = context;
  const leaderEpoch = await records.takeLeaderEpoch(signal);
  await untilLeaseIsHeld(context, leaderEpoch, signal);
  runtime.logger.info({ event: 'leading', leaderEpoch }, 'this instance leads');
  try {
    await leadWith(context, leaderEpoch, signal);
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
async function untilLeaseIsHeld({ runtime, fleet, watch }: MigrationContext, leaderEpoch: number, signal: AbortSignal): Promise<void> {
  while (!fleet.isLeader()) {
    await runtime.clock.sleep(leadershipInterval_ms, signal);
    const { record } = await watch.refresh(signal);
    if (record.leaderEpoch !== leaderEpoch) throw new ConvoyError('staleEpoch', 'Another instance has become the coordinator instance.');
  }
}

async function leadWith(context: MigrationContext, leaderEpoch: number, signal: AbortSignal): Promise<void> {
  const { watch } = context;
  const view = await watch.refresh(signal);
  // The former leader may have committed since: what operators have changed after that stays as it is.
  if (view.record.phase === 'committed') return;
  if (view.record.phase === 'starting') {
    await initialise(context, leaderEpoch, signal);
    context.fleet.nudge();
    await watch.refresh(signal);
  }
  if (view.record.phase === 'reversing') {
    await beginReverse(context, leaderEpoch, signal);
    context.fleet.nudge();
    await watch.refresh(signal);
  }
  if (isFollowing(context)) await leadSync(context, leaderEpoch, signal);
  await commit(context, leaderEpoch, signal);
}

/** Until the commit time is sealed, definition changes are followed. */
function isFollowing({ watch }: MigrationContext): boolean {
  const { phase, commit: round } = watch.view.record;
  return phase === 'syncing' || (phase === 'committing' && round?.sealed !== true);
}

async function leadSync(context: MigrationContext, leaderEpoch: number, stop: AbortSignal): Promise<void> {
  const definitions = await DefinitionLeader.take(context, leaderEpoch, stop);
  const sealed = new AbortController();
  const untilSealed = async (signal: AbortSignal): Promise<void> => {
    if (context.watch.view.record.phase === 'syncing') await supervise(context, leaderEpoch, signal);
    await stopWriters(context, leaderEpoch, signal);
    await drainRounds(context, definitions, leaderEpoch, signal);
    sealed.abort();
  };
  const following = AbortSignal.any([stop, sealed.signal]);
  await runTogether(following, [(signal) => definitions.run(signal), untilSealed]).catch((error: unknown) => {
    if (!sealed.signal.aborted) throw error;
  });
}

/** From here on the migration commits: the source refuses the writes of users, where that was asked for. */
async function stopWriters(context: MigrationContext, leaderEpoch: number, signal: AbortSignal): Promise<void> {
  await context.records.updateAsLeader(leaderEpoch, { phase: 'committing' }, signal);
  stepDone('commitBegun');
  await bringBlock(context, 'source', signal);
  stepDone('sourceClosed');
}

/**
 * While all sync, keeps the total at the sum of what was copied whenever all have copied everything: collections that come
 * later, and those that are copied anew or dropped, change it again. Ends when every share has been told to commit.
 */
export async function supervise(context: Pick<MigrationContext, 'records' | 'watch'>, leaderEpoch: number, signal: AbortSignal): Promise<void> {
  const { watch, records } = context;
  const isTold = (view: MigrationView): boolean => allShares(view, (share) => share.commitRequested);
  const isOtherTotal = (view: MigrationView): boolean =>
    allShares(view, (share) => share.copyDone) && finalTotal(view).estimatedTotalBytes !== view.record.estimatedTotalBytes;
  for (;;) {
    const view = await watch.until((seen) => isTold(seen) || isOtherTotal(seen), signal);
    if (isTold(view)) return;
    await records.updateAsLeader(leaderEpoch, finalTotal(view), signal);
    await watch.refresh(signal);
  }
}
