import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { catalogChanges } from '../catalog/catalog-changes.js';
import { compareCatalogs, type CatalogDifference } from '../catalog/compare-catalogs.js';
import type { Catalog } from '../catalog/namespace.js';
import { readCatalog } from '../catalog/read-catalog.js';
import { restoreAttributes } from '../catalog/restore-attributes.js';
import { restoreBalancer } from '../cluster/balancer.js';
import { timestampOf } from '../cluster/cluster-time.js';
import { refuseCatalogChanges } from '../ddl/definition-guard.js';
import { refuseFunctionChanges } from '../ddl/server-functions.js';
import { planOf, sourceTimeAboveAll } from './initialise.js';
import { filterOf, type MigrationContext, readBegunCatalog, readSourceCatalog } from './migration-context.js';
import { allShares } from './migration-watch.js';

/** Writers that bypass the end of writing are given this many chances. */
const roundsMax = 5;
/** Idle shards are given a note this often while their streams have to pass the commit time. */
const poke_ms = 500;
const differencesNamedMax = 5;

/**
 * The leader's way from the last drained event to COMMITTED. May be repeated by a later leader at every step: a sealed
 * commit time stays, and every attribute is looked at before it is changed.
 */
export async function commit(context: MigrationContext, leaderEpoch: number, signal: AbortSignal): Promise<void> {
  const { records, watch, fleet, runtime } = context;
  const { phase } = await refreshed(context, signal);
  if (phase === 'syncing' || phase === 'committing') {
    if (watch.view.record.commit?.sealed !== true) await drainRounds(context, leaderEpoch, signal);
    const catalog = await readBegunCatalog(context, signal);
    await finishCatalog(context, catalog, signal);
    refuseLateWrites(context);
    const opening = await records.openAsLeader(leaderEpoch, signal);
    if (!opening) throw failedBefore(context);
  }
  await records.updateAsLeader(leaderEpoch, { canWrite: true }, signal);
  fleet.nudge();
  await restoreBalancers(context, signal);
  await records.updateAsLeader(leaderEpoch, { phase: 'committed' }, signal);
  runtime.logger.info({ event: 'committed' }, 'the migration is committed');
  fleet.nudge();
  await watch.refresh(signal);
}

async function refreshed(context: MigrationContext, signal: AbortSignal): Promise<MigrationContext['watch']['view']['record']> {
  return (await context.watch.refresh(signal)).record;
}

/** Takes a commit time and lets all shares drain past it, anew while the source shows later writes. */
async function drainRounds(context: MigrationContext, leaderEpoch: number, signal: AbortSignal): Promise<void> {
  const { records, watch, fleet } = context;
  const first = (watch.view.record.commit?.round ?? 0) + 1;
  for (let round = first; round < first + roundsMax; round += 1) {
    const time = timestampOf(await sourceTimeAboveAll(context, signal));
    await records.updateAsLeader(leaderEpoch, { phase: 'committing', commit: { round, time, sealed: false } }, signal);
    fleet.nudge();
    await drained(context, round, signal);
    if (!allShares(watch.view, (share) => share.drained?.eventsAbove === 0)) continue;
    const begun = await readBegunCatalog(context, signal);
    refuseCatalogChanges(catalogChanges(begun, await readSourceCatalog(context, signal)));
    await context.runtime.retrying('compare functions', () => refuseFunctionChanges(context.source, context.destination, begun, signal), signal);
    await records.updateAsLeader(leaderEpoch, { commit: { round, time, sealed: true } }, signal);
    fleet.nudge();
    return;
  }
  throw new ConvoyError('commitRoundsExceeded', `The source was written to in each of ${roundsMax} rounds of the commit. Stop its writers and commit a new migration.`);
}

/** Waits until every share has drained the round, with notes on the source so that idle streams move on. */
async function drained(context: MigrationContext, round: number, signal: AbortSignal): Promise<void> {
  const { watch, runtime } = context;
  const isDrained = (): boolean => allShares(watch.view, (share) => share.drained?.round === round);
  while (!isDrained()) {
    await sourceTimeAboveAll(context, signal);
    const waited = new AbortController();
    const either = AbortSignal.any([signal, waited.signal]);
    await Promise.race([
      watch.until(isDrained, either).catch(() => undefined),
      runtime.clock.sleep(poke_ms, either).catch(() => undefined),
    ]);
    waited.abort();
    signal.throwIfAborted();
  }
}

/** Compares what is there, restores the deferred attributes, and compares again in the final form. */
async function finishCatalog(context: MigrationContext, catalog: Catalog, signal: AbortSignal): Promise<void> {
  const { runtime, destination } = context;
  const plan = planOf(context, catalog);
  await runtime.retrying('restore attributes', () => restoreAttributes({ destination, plan, signal }), signal);
  const found = await runtime.retrying('read the destination catalog', () => readCatalog(destination, filterOf(context.watch.view.record), signal), signal);
  const { buildIndexes } = context.watch.view.record.options;
  refuseDifferences(compareCatalogs(catalog, found, { form: 'final', buildIndexes, destinationVersion: destination.version }));
}

function refuseDifferences(differences: readonly CatalogDifference[]): void {
  if (differences.length === 0) return;
  const named = differences.slice(0, differencesNamedMax).map(({ kind, namespace, detail }) => `${kind} ${namespace} (${detail})`);
  throw new ConvoyError('catalogDiffers', `Source and destination differ in ${differences.length} definitions: ${named.join('; ')}.`);
}

/** The last look before the destination is opened. */
function refuseLateWrites(context: MigrationContext): void {
  const late = [...context.watch.view.shares.values()].reduce((sum, share) => sum + (share.drained?.eventsAbove ?? 0), 0);
  if (late > 0) throw new ConvoyError('sourceWritesAfterCommit', `The source saw ${late} writes after the commit time, which the destination does not have. The destination stays closed.`);
}

async function restoreBalancers(context: MigrationContext, signal: AbortSignal): Promise<void> {
  const { source, destination, runtime, watch } = context;
  const before = watch.view.record.balancers;
  if (before === null) return;
  const restore = (cluster: typeof source, enabled: boolean) =>
    runtime.retrying('restore a balancer', () => restoreBalancer(cluster, { enabled, busy: false }, { signal }), signal);
  await restore(source, before.source);
  await restore(destination, before.destination);
}

function failedBefore(context: MigrationContext): ConvoyError {
  const failure = context.watch.view.record.failure;
  return failure === null ? new ConvoyError('migrationFailed') : new ConvoyError(failure.error, failure.errorDescription);
}
