import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { catalogChanges } from '../catalog/catalog-changes.js';
import { refuseCatalogChanges } from '../ddl/definition-guard.js';
import { commit } from './commit.js';
import { initialise } from './initialise.js';
import { type MigrationContext, readBegunCatalog, readSourceCatalog } from './migration-context.js';
import { allShares } from './migration-watch.js';

/** Catalogs are compared this often: before 6.0 streams show neither creates nor index changes. */
const catalogInterval_ms = 30_000;
/** A process that is not the leader looks this often whether it has become so; changes of the fleet wake it as well. */
const leadershipInterval_ms = 500;

/** Leads whenever the fleet says so, until the migration is committed; a deposed leader goes back to waiting. */
export async function leadWhenElected(context: MigrationContext, signal: AbortSignal): Promise<void> {
  const { runtime, fleet, watch } = context;
  for (;;) {
    const view = await watch.until((seen) => allShares(seen, (share) => share.started), signal);
    if (view.record.phase === 'committed') return;
    while (!fleet.isLeader()) await runtime.clock.sleep(leadershipInterval_ms, signal);
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

async function lead(context: MigrationContext, signal: AbortSignal): Promise<void> {
  const { runtime, records, watch } = context;
  const leaderEpoch = await records.takeLeaderEpoch(signal);
  runtime.logger.info({ event: 'leading', leaderEpoch }, 'this instance leads');
  const view = await watch.refresh(signal);
  if (view.record.phase === 'starting') {
    await initialise(context, leaderEpoch, signal);
    context.fleet.nudge();
    await watch.refresh(signal);
  }
  if (watch.view.record.phase === 'syncing') await supervise(context, leaderEpoch, signal);
  await commit(context, leaderEpoch, signal);
}

/** While all sync: totals at the end of the copy, catalogs at intervals; ends when every share has been told to commit. */
async function supervise(context: MigrationContext, leaderEpoch: number, signal: AbortSignal): Promise<void> {
  const { runtime, watch } = context;
  const before = await readBegunCatalog(context, signal);
  let totalIsFinal = false;
  let comparedAt_ms = runtime.clock.monotonic_ms();
  while (!allShares(watch.view, (share) => share.commitRequested)) {
    if (!totalIsFinal && allShares(watch.view, (share) => share.copyDone)) {
      await setFinalTotal(context, leaderEpoch, signal);
      totalIsFinal = true;
    }
    if (runtime.clock.monotonic_ms() - comparedAt_ms >= catalogInterval_ms) {
      const now = await runtime.retrying('read the source catalog', () => readSourceCatalog(context, signal), signal);
      refuseCatalogChanges(catalogChanges(before, now));
      comparedAt_ms = runtime.clock.monotonic_ms();
    }
    await runtime.clock.sleep(leadershipInterval_ms, signal);
  }
  if (!totalIsFinal) await setFinalTotal(context, leaderEpoch, signal);
}

/** The total becomes what was copied in all, so that a client that adds by hand gets exactly 100 %. */
async function setFinalTotal(context: MigrationContext, leaderEpoch: number, signal: AbortSignal): Promise<void> {
  let total = 0;
  for (const share of context.watch.view.shares.values()) total += share.copied.bytes;
  await context.records.updateAsLeader(leaderEpoch, { estimatedTotalBytes: Math.max(1, total) }, signal);
}
