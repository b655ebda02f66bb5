import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Catalog } from '../../catalog/namespace.js';
import { timestampOf } from '../../cluster/cluster-time.js';
import { keepsBalancer } from '../../store/reversal.js';
import {
  type LeaderDependencies,
  type MigrationDependencies,
  sourceTimeAboveAll,
  wakeSource,
} from '../migration/migration-dependencies.js';
import { movedCatalog } from '../migration/moved-catalog.js';
import { allTasks, type MigrationView, untilOrFor } from '../migration/migration-watch.js';
import { type LateWrites, lateWrites, totalOf } from './late-writes.js';
import { untilTransactionsEnd } from './source-transactions.js';

/** The leader writes notes on idle shards at once and this often while their streams have to pass the look's time. */
const wake_ms = 500;

/**
 * The last look before the destination opens. Every transaction that has begun by now has ended on all shards, and
 * every task has read its stream past a later time. So the look sees every write acknowledged before it. It waits for a
 * task that is away, like every step of a commit.
 * @throws ConvoyError `sourceWritesAfterCommit`, `transactionsNotEnded`
 */
export async function refuseLateWrites(deps: LeaderDependencies, catalog: Catalog, signal: AbortSignal): Promise<void> {
  await untilTransactionsEnd(deps, signal);
  const look = () => lookForLate(deps, catalog, signal);
  const late = await countLate(deps, look, catalog, signal);
  if (late > 0)
    throw new ConvoyError(
      'sourceWritesAfterCommit',
      `The source saw ${late} or more writes after the commit time, which the destination does not have. ` +
        'The destination stays closed.',
    );
}

/** Late writes, once every task has read its stream past a time that is taken now. */
async function lookForLate(deps: LeaderDependencies, catalog: Catalog, signal: AbortSignal): Promise<LateWrites> {
  const { watch, records, fleet, leaderEpoch } = deps;
  const lastLook = timestampOf(await sourceTimeAboveAll(deps, signal));
  await records.updateAsLeader(leaderEpoch, { lastLook }, signal);
  fleet.wake();
  const isDecided = (view: MigrationView) =>
    lateWrites(view, catalog).writes > 0 ||
    allTasks(view, ({ drained }) => drained?.lookedTo?.equals(lastLook) === true);
  for (let view = await watch.refresh(signal); !isDecided(view); view = watch.view) {
    await wakeSource(deps, signal);
    await untilOrFor(deps, isDecided, wake_ms, signal);
  }
  return lateWrites(watch.view, catalog);
}

/**
 * Late writes by users. Creations of collections and indexes, and drops, are none where databases may move and did
 * nothing else; deletes in TTL collections are none under the UUIDs that they have got by moving. A user may have
 * dropped a collection before the first look and filled it again until the catalog was read: a second look sees that.
 */
async function countLate(
  deps: MigrationDependencies,
  look: () => Promise<LateWrites>,
  catalog: Catalog,
  signal: AbortSignal,
): Promise<number> {
  const late = await look();
  const { record } = deps.watch.view;
  if (totalOf(late) === 0 || late.writes > 0 || !keepsBalancer(record)) return totalOf(late);
  const moved = await movedCatalog(deps, record, catalog, signal);
  if (moved === null) return totalOf(late);
  const { writes } = await look();
  return writes + lateWrites(deps.watch.view, [...catalog, ...moved]).collectionsWithDeletes;
}
