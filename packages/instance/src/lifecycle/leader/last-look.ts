import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Catalog } from '../../catalog/namespace.js';
import { timestampOf } from '../../cluster/cluster-time.js';
import { keepsBalancer } from '../../store/reversal.js';
import type { MigrationDependencies } from '../migration/migration-dependencies.js';
import { movedCatalog } from '../migration/moved-catalog.js';
import { allTasks, type MigrationView, untilOrFor } from '../migration/migration-watch.js';
import { sourceTimeAboveAll, wakeSource } from '../migration/source-time.js';
import { lateWrites, totalOf } from './late-writes.js';
import { untilTransactionsEnd } from './source-transactions.js';

/** The leader writes a note on idle shards this often while their streams have to pass the time of the look. */
const wake_ms = 500;

/**
 * The last look before the destination opens. Every transaction that has begun by now has ended on all shards, and
 * every task has read its stream past a later time. So the look sees every write acknowledged before it. It waits for a
 * task that is away, like every step of a commit.
 * @throws ConvoyError `sourceWritesAfterCommit`, `transactionsNotEnded`
 */
export async function refuseLateWrites(
  deps: MigrationDependencies,
  leaderEpoch: number,
  catalog: Catalog,
  signal: AbortSignal,
): Promise<void> {
  const { watch, records, fleet } = deps;
  await untilTransactionsEnd(deps, leaderEpoch, signal);
  const lastLook = timestampOf(await sourceTimeAboveAll(deps, signal));
  await records.updateAsLeader(leaderEpoch, { lastLook }, signal);
  fleet.wake();
  const isDecided = (view: MigrationView): boolean =>
    lateWrites(view, catalog).writes > 0 ||
    allTasks(view, ({ drained }) => drained?.lookedTo?.equals(lastLook) === true);
  for (let view = await watch.refresh(signal); !isDecided(view); view = watch.view) {
    await untilOrFor(deps, isDecided, wake_ms, signal);
    if (!isDecided(watch.view)) await wakeSource(deps, signal);
  }
  const late = await countLate(deps, catalog, signal);
  if (late > 0)
    throw new ConvoyError(
      'sourceWritesAfterCommit',
      `The source saw ${late} or more writes after the commit time, which the destination does not have. ` +
        'The destination stays closed.',
    );
}

/**
 * Late writes by users. Creations and drops of collections are none where databases may move and did nothing else, and
 * deletes in TTL collections are none under the UUIDs that they have got by moving.
 */
async function countLate(deps: MigrationDependencies, catalog: Catalog, signal: AbortSignal): Promise<number> {
  const { view } = deps.watch;
  const late = lateWrites(view, catalog);
  if (totalOf(late) === 0 || late.writes > 0 || !keepsBalancer(view.record)) return totalOf(late);
  const moved = await movedCatalog({ ...deps, record: view.record }, catalog, signal);
  return moved === null ? totalOf(late) : lateWrites(view, [...catalog, ...moved]).collectionsWithDeletes;
}
