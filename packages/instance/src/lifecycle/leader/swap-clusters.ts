import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { BuildsUnderWay } from '../../catalog/make/builds-under-way.js';
import { type Catalog, namespaceOf } from '../../catalog/namespace.js';
import { restoredEntry, storedEntry } from '../../catalog/stored-catalog.js';
import type { MigrationRecord } from '../../store/migration-record.js';
import { keepsBalancer, swapped, swapsOf } from '../../store/reversal.js';
import { clearDirection, readStoredEntries, storeEntries } from '../../store/task-storage.js';
import { type UuidPair, UuidPairs } from '../../store/uuid-pairs.js';
import { withTaskBounds } from './initialise.js';
import { checkReverse } from './check-reverse.js';
import { leadershipInterval_ms, leadUnlessDeposed } from './lead-unless-deposed.js';
import {
  type LeaderDependencies,
  type MigrationDependencies,
  readCommittedCatalog,
} from '../migration/migration-dependencies.js';
import { movedCatalog } from '../migration/moved-catalog.js';
import { allTasks, type MigrationView } from '../migration/migration-watch.js';
import { requireReversible } from '../migration/next-source.js';
import { stepDone } from '../migration/steps.js';

/** Whether a task has taken the command to reverse the migration in its present direction. */
export function isReverseRequested(
  record: Pick<MigrationRecord, 'phase' | 'reversal'>,
  task: { reverseRequested?: number } | undefined,
): boolean {
  return record.phase === 'committed' && task?.reverseRequested === swapsOf(record);
}

/**
 * Waits until every task of a committed migration has taken the command to reverse; the leader then swaps the clusters.
 * Resolves once they are swapped.
 */
export async function swapWhenRequested(deps: MigrationDependencies, signal: AbortSignal): Promise<void> {
  const { watch, fleet, runtime } = deps;
  const turns = swapsOf(watch.view.record);
  const isSwapped = ({ record }: MigrationView) => swapsOf(record) > turns;
  await watch.until(
    (view) => isSwapped(view) || allTasks(view, (task) => isReverseRequested(view.record, task)),
    signal,
  );
  while (!isSwapped(watch.view)) {
    if (fleet.isLeader())
      await leadUnlessDeposed(
        deps,
        (leaderEpoch) => swapAsLeader({ ...deps, leaderEpoch, builds: new BuildsUnderWay(runtime.clock) }, signal),
        signal,
      );
    else await runtime.clock.sleep(leadershipInterval_ms, signal);
    await watch.refresh(signal);
  }
}

/**
 * Writes everything of the new direction before the one conditional write that swaps the clusters. Until then the
 * migration stays committed, and the preparation can be repeated. Since the command, users may have written to the
 * former source: processes may have ended, and an operator may have allowed writes there.
 * @throws ConvoyError as `checkReverse`
 */
async function swapAsLeader(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { runtime, source, destination, records, watch, metadata, fleet, leaderEpoch } = deps;
  stepDone('reverseStarted');
  const { record, tasks } = await watch.refresh(signal);
  if (record.phase !== 'committed' || !record.reversal) return;
  const reversal = requireReversible(record);
  const [committed, opened] = [await readCommittedCatalog(deps, signal), await readOpenedCatalog(deps, signal)];
  // A process that has just started connects to it only now.
  const answer = () => source.router.command('admin', { ping: 1 }, { signal });
  await runtime.retrying('reach the former source', answer, signal);
  const check = { runtime, records, former: source, next: destination, record, signal };
  await checkReverse({ ...check, committed: () => Promise.resolve(committed) });
  // Databases that moved since have given their collections other UUIDs.
  const moved = keepsBalancer(record) ? await movedCatalog(deps, record, committed, signal) : null;
  await storeEntries(
    metadata,
    leaderEpoch,
    (await withTaskBounds(deps, 'destination', opened, signal)).map(storedEntry),
    signal,
  );
  stepDone('reverseCatalogStored');
  await clearDirection(
    metadata,
    leaderEpoch,
    new Map([...tasks.values()].map(({ _id, epoch }) => [_id, epoch])),
    signal,
  );
  const pairs = await UuidPairs.read(metadata, leaderEpoch, signal);
  await pairs.record(reversedPairs(moved ?? committed, opened), signal);
  stepDone('formerDirectionCleared');
  await records.turnAsLeader(leaderEpoch, reversal.turns, swapped(record, reversal, leaderEpoch), signal);
  stepDone('clustersSwapped');
  fleet.wake();
}

/** Both catalogs were compared before the destination opened: a name means the same collection in both. */
function reversedPairs(committed: Catalog, opened: Catalog): UuidPair[] {
  const former = new Map(committed.map((entry) => [namespaceOf(entry), entry.uuid]));
  return opened.flatMap((entry) => {
    const destinationUuid = former.get(namespaceOf(entry)) ?? '';
    return entry.uuid === '' || destinationUuid === '' ? [] : [{ sourceUuid: entry.uuid, destinationUuid }];
  });
}

/** The destination's catalog right before it opened to users. */
async function readOpenedCatalog({ metadata, watch }: MigrationDependencies, signal: AbortSignal): Promise<Catalog> {
  const epoch = watch.view.record.reversal?.openedCatalogEpoch ?? null;
  if (epoch === null)
    throw new ConvoyError('internalError', "The destination's catalog at its opening is not recorded.");
  return (await readStoredEntries(metadata, epoch, signal, 'openedCollections')).map(restoredEntry);
}
