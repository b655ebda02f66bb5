import { deferAttributes } from '../../catalog/make/defer-attributes.js';
import { createFence } from '../../store/fence.js';
import { turnsOf } from '../../store/reversal.js';
import { planOf, stopBalancers } from './initialise.js';
import { type MigrationDependencies, readStartCatalog } from '../migration/migration-dependencies.js';
import { stepDone } from '../migration/steps.js';
import { bringBlock } from '../migration/write-blocks.js';

/**
 * The leader's first work after the swap: it blocks user writes on the former source, stops both balancers, creates the
 * fence there, and defers its indexes. A later leader may repeat every step.
 */
export async function beginReverse(
  deps: MigrationDependencies,
  leaderEpoch: number,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, destination, records, taskRecords, watch } = deps;
  await taskRecords.beginTurn(turnsOf(watch.view.record), signal);
  stepDone('tasksRestarted');
  await bringBlock(deps, 'destination', signal);
  stepDone('formerSourceClosed');
  await stopBalancers(deps, leaderEpoch, signal);
  stepDone('reverseBalancersStopped');
  await runtime.retrying(
    'create the fence',
    () => createFence(destination.router, destination.kind, destination.shardIds, { signal }),
    signal,
  );
  stepDone('reverseFenceMade');
  const plan = planOf(deps, await readStartCatalog(deps, signal));
  const confirm = (): Promise<void> => records.confirmLeader(leaderEpoch, signal);
  await runtime.retrying('defer attributes', () => deferAttributes({ destination, signal, confirm }, plan), signal);
  stepDone('attributesDeferred');
  await records.updateAsLeader(leaderEpoch, { phase: 'syncing' }, signal);
  stepDone('reverseFollowed');
  runtime.logger.info({ event: 'reversed' }, 'the clusters have swapped their roles');
}
