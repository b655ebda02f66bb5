import { deferAttributes } from '../../catalog/make/defer-attributes.js';
import { swapsOf } from '../../store/reversal.js';
import { makeFence, planOf, stopBalancers } from './initialise.js';
import { type LeaderDependencies, readStartCatalog } from '../migration/migration-dependencies.js';
import { stepDone } from '../migration/steps.js';
import { applyWriteBlock } from '../migration/write-blocks.js';

/**
 * The leader's first work after the swap: it resets all tasks, blocks user writes on the former source, and stops both
 * balancers. On the former source it then creates the fence and defers index attributes. A later leader may repeat
 * every step.
 */
export async function beginReverse(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { runtime, destination, records, taskRecords, watch, builds, leaderEpoch } = deps;
  await taskRecords.resetAfterSwap(swapsOf(watch.view.record), signal);
  stepDone('tasksRestarted');
  await applyWriteBlock(deps, 'destination', signal);
  stepDone('formerSourceBlocked');
  await stopBalancers(deps, signal);
  stepDone('reverseBalancersStopped');
  await makeFence(deps, signal);
  stepDone('reverseFenceMade');
  const plan = planOf(deps, await readStartCatalog(deps, signal));
  const confirm = () => records.confirmLeader(leaderEpoch, signal);
  const making = { destination, signal, confirm, builds };
  await runtime.retrying('defer attributes', () => deferAttributes(making, plan), signal);
  stepDone('attributesDeferred');
  await records.updateAsLeader(leaderEpoch, { phase: 'syncing' }, signal);
  stepDone('reverseSyncStarted');
  runtime.logger.info({ event: 'reversed' }, 'the fleet follows the former destination');
}
