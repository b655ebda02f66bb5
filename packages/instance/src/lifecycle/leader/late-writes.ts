import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { expires } from '../../catalog/collection-options.js';
import type { CatalogChange } from '../../catalog/compare-catalogs.js';
import { nameSome } from '../../catalog/name-some.js';
import type { Catalog } from '../../catalog/namespace.js';
import { timestampOf } from '../../cluster/cluster-time.js';
import { openTransactions } from '../../cluster/current-operations.js';
import { movesUnderWay } from '../../cluster/moves-under-way.js';
import { shownName } from '../../cluster/time-series.js';
import { catalogSince } from '../migration/migration-catalogs.js';
import {
  type LeaderDependencies,
  type MigrationDependencies,
  recordWarning,
  sourceTimeAboveAll,
  wakeSource,
} from '../migration/migration-dependencies.js';
import { allTasks, hasWarning, type MigrationView } from '../../store/migration-view.js';
import { untilOrFor } from '../../store/migration-watch.js';
import { refuseOtherShards } from './followed-source.js';

/** The leader writes notes on idle shards at once and this often while their streams have to pass a current time. */
const wake_ms = 500;

/**
 * Refuses to open the destination once the source has late writes. Every transaction that has begun by now has ended on
 * all shards, and every task has read its stream past a later time: so every write acknowledged before this is seen. It
 * waits for a task that is away, like every step of a commit.
 * @throws ConvoyError `sourceWritesAfterCommit`, `transactionsNotEnded`, `shardKeyChanged`, `topologyChanged`
 */
export async function refuseLateWrites(deps: LeaderDependencies, catalog: Catalog, signal: AbortSignal): Promise<void> {
  await untilTransactionsEnd(deps, signal);
  const look = () => readLateWrites(deps, catalog, signal);
  const late = await countLate(deps, look, catalog, signal);
  if (late > 0)
    throw new ConvoyError(
      'sourceWritesAfterCommit',
      `The source saw ${late} or more writes after the commit time, which the destination does not have. ` +
        'The destination stays closed.',
    );
}

/** Late writes, once every task has read its stream past a time that is taken now. */
async function readLateWrites(deps: LeaderDependencies, catalog: Catalog, signal: AbortSignal): Promise<LateWrites> {
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
 * Late writes by users. Creations of collections and indexes, drops and reshardings are none where collections and
 * databases have moved and nothing else was done; deletes in TTL collections are none under the UUIDs that they have
 * got by moving. A user may have dropped a collection before the first look and filled it again until the catalog was
 * read: a second look sees that. It sees no shard that nobody reads.
 * @throws ConvoyError `shardKeyChanged`, `topologyChanged`
 */
async function countLate(
  deps: LeaderDependencies,
  look: () => Promise<LateWrites>,
  catalog: Catalog,
  signal: AbortSignal,
): Promise<number> {
  const late = await look();
  if (totalOf(late) === 0 || late.writes > 0 || deps.source.kind === 'replicaSet') return totalOf(late);
  const moved = await settledCatalog(deps, catalog, signal);
  if (moved === null) return totalOf(late);
  await refuseOtherShards(deps, signal);
  const { writes } = await look();
  return writes + lateWrites(deps.watch.view, [...catalog, ...moved]).collectionsWithDeletes;
}

/** Shards carry out a move within seconds of its event. */
const movesWithin_ms = 60_000;
/** Interval between readings of the catalog meanwhile. */
const movesPoll_ms = 500;

/**
 * The source's catalog once the moves that its streams have shown are carried out: in between it may show neither the
 * old place of a collection nor the new one.
 * @returns null when users have changed definitions, or have emptied a collection
 * @throws ConvoyError `shardKeyChanged` when collections were resharded to another key, or unsharded, and nothing else
 */
async function settledCatalog(
  deps: LeaderDependencies,
  committed: Catalog,
  signal: AbortSignal,
): Promise<Catalog | null> {
  const { runtime, source, watch } = deps;
  const areMoving = async () =>
    (await runtime.retrying('look for moves', () => movesUnderWay(source, { signal }), signal)).length > 0;
  const started_ms = runtime.clock.monotonic_ms();
  for (;;) {
    const wereMoving = await areMoving();
    const { now, changes } = await catalogSince(deps, watch.view.record, committed, signal);
    if (changes.length === 0) return now;
    const isOver = runtime.clock.monotonic_ms() - started_ms > movesWithin_ms;
    if (isOver || !(wereMoving || (await areMoving()))) {
      if (changes.every(isOtherKey)) throw otherKeys(changes);
      return null;
    }
    await runtime.clock.sleep(movesPoll_ms, signal);
  }
}

/** What was not sharded before gets a key from users alone, which streams show as another change. */
function isOtherKey(change: CatalogChange): boolean {
  return change.kind === 'shardKey' && change.before.sharding !== null;
}

function otherKeys(changes: readonly CatalogChange[]): ConvoyError {
  return new ConvoyError(
    'shardKeyChanged',
    `Collections have another shard key on the source than at the commit time, or none: ` +
      `${nameSome(changes.map(({ entry }) => shownName(entry)))}. They were resharded or unsharded, or dropped and ` +
      'created anew. The destination stays closed. Start anew.',
  );
}

/** What all tasks report of the source above the commit time: the destination does not have it. */
export interface LateWrites {
  /** Changes of documents and of definitions, without the two below. */
  writes: number;
  /** Creations of collections and indexes, drops and reshardings: by users, or because something moves. */
  createsAndDrops: number;
  /** Collections with deletes. */
  collectionsWithDeletes: number;
}

/**
 * Writes on the source above the commit time that the destination does not have, as all tasks report them. Deletes in a
 * TTL collection do not count: the source's server keeps expiring documents, and the destination expires the same ones.
 * @param catalog the source's at the commit time, with the UUIDs that its collections have got since
 */
export function lateWrites({ tasks }: MigrationView, catalog: Catalog): LateWrites {
  const expiring = new Set(catalog.filter(expires).map(({ uuid }) => uuid));
  const late: LateWrites = { writes: 0, createsAndDrops: 0, collectionsWithDeletes: 0 };
  for (const { drained } of tasks.values()) {
    late.writes += drained?.eventsAbove ?? 0;
    late.createsAndDrops += drained?.createsAndDrops ?? 0;
    late.collectionsWithDeletes += (drained?.deletedIn ?? []).filter((uuid) => !expiring.has(uuid)).length;
  }
  return late;
}

/** All of them together, as a lower bound. */
export function totalOf({ writes, createsAndDrops, collectionsWithDeletes }: LateWrites): number {
  return writes + createsAndDrops + collectionsWithDeletes;
}

/** Interval between checks for open transactions. */
const transactionsPoll_ms = 200;
/** Transactions mostly end within milliseconds: a longer wait is worth a warning. */
const quietFor_ms = 2_000;
/**
 * Servers end a transaction after `transactionLifetimeLimitSeconds`, 60 s by default; a prepared one waits for its
 * shards.
 */
const transactionsWithin_ms = 10 * 60_000;

/** Name of the warning while transactions of the source hold a commit. */
export const transactionsWarning = 'commitHeldByTransactions';

/**
 * Resolves once every transaction that was open on a shard of the source has ended. Servers acknowledge a cross-shard
 * transaction before all shards have committed: a commit time in between would tear it. It does not wait for later
 * transactions.
 * @throws ConvoyError `transactionsNotEnded` when one stays open for too long
 */
export async function untilTransactionsEnd(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { runtime, source } = deps;
  const started_ms = runtime.clock.monotonic_ms();
  const look = () => runtime.retrying('look for open transactions', () => openTransactions(source, { signal }), signal);
  for (let open = await look(); open.size > 0;) {
    const waited_ms = runtime.clock.monotonic_ms() - started_ms;
    const description = `${source.name} has ${open.size} transactions that have not ended on all shards.`;
    if (waited_ms > transactionsWithin_ms) throw new ConvoyError('transactionsNotEnded', `${description} ${advice}`);
    if (waited_ms > quietFor_ms && !isRequested(deps)) {
      runtime.logger.warn(
        { event: 'commitHeldByTransactions', transactions: open.size },
        'the commit waits until transactions of the source have ended',
      );
      await recordWarning(deps, transactionsWarning, `The commit waits: ${description} ${advice}`, signal);
    }
    await runtime.clock.sleep(transactionsPoll_ms, signal);
    const stillOpen = await look();
    open = new Set([...open].filter((transaction) => stillOpen.has(transaction)));
  }
  // An earlier leader may have recorded the warning.
  await recordWarning(deps, transactionsWarning, null, signal);
}

const advice =
  'Find them with $currentOp. Kill the sessions of open ones; for prepared ones, bring back the shards that take part.';

function isRequested({ watch }: MigrationDependencies): boolean {
  return hasWarning(watch.view.record, transactionsWarning);
}
