import { planDestination, type DestinationPlan } from '../../catalog/plan/destination-plan.js';
import { mapBounded } from '../../catalog/map-bounded.js';
import type { Catalog, CatalogEntry } from '../../catalog/namespace.js';
import { withSampledRanges } from '../../catalog/read/sample-ranges.js';
import { sampleShareBounds } from '../../catalog/share-bounds.js';
import { storedEntry } from '../../catalog/stored-catalog.js';
import { readBalancer, restoreBalancer as startAgain, stopBalancer } from '../../cluster/balancer.js';
import { timestampOf } from '../../cluster/cluster-time.js';
import type { Cluster } from '../../cluster/door.js';
import { refuseExpiring } from '../../preflight/check-verification.js';
import { createFence } from '../../store/fence.js';
import { storeEntries } from '../../store/share-storage.js';
import { isOpeningDecided, type MigrationRecord } from '../../store/migration-record.js';
import { UuidPairs } from '../../store/uuid-pairs.js';
import { makeCollections } from './make-collections.js';
import { absentRequests, type MigrationContext, readSourceCatalog } from '../migration/migration-context.js';
import { sourceTimeAboveAll } from '../migration/source-time.js';
import { stepDone } from '../migration/steps.js';
import { bringBlock } from '../migration/write-blocks.js';

/**
 * The leader's first work: the destination closed to users where that was asked for, both balancers at rest, the start time taken above every shard's running operations, the
 * catalog as it is after that stored, collections and indexes made. Every step may be repeated by a later leader.
 */
export async function initialise(context: MigrationContext, leaderEpoch: number, signal: AbortSignal): Promise<void> {
  const { runtime, destination, records } = context;
  await bringBlock(context, 'destination', signal);
  stepDone('destinationClosed');
  await stopBalancers(context, leaderEpoch, signal);
  stepDone('balancersStopped');
  await runtime.retrying('make the fence', () => createFence(destination.router, destination.kind, destination.shardIds, { signal }), signal);
  stepDone('fenceMade');
  const startTime = await sourceTimeAboveAll(context, signal);
  stepDone('startTimeTaken');
  const catalog = await runtime.retrying('read the source catalog', () => readSourceCatalog(context, signal), signal);
  refuseExpiring(context.watch.view.record.options, catalog);
  await storeEntries(context.metadata, leaderEpoch, (await withShareBounds(context, 'source', catalog, signal)).map(storedEntry), signal);
  stepDone('catalogStored');
  const plan = await runtime.retrying('sample shard keys', () => withSampledRanges(planOf(context, catalog), context.source, destination, signal), signal);
  const created = await makeCollections(context, leaderEpoch, catalog, plan, signal);
  const pairs = await UuidPairs.read(context.metadata, leaderEpoch, signal);
  await pairs.record(created.filter(({ sourceUuid }) => sourceUuid !== ''), signal);
  stepDone('collectionsMade');
  const estimatedTotalBytes = catalog.reduce((sum, entry) => sum + entry.sizeBytes, 0);
  const begun = { phase: 'syncing' as const, catalogEpoch: leaderEpoch, startTime: timestampOf(startTime), estimatedTotalBytes: Math.max(1, Math.round(estimatedTotalBytes)) };
  const warnings = [...context.watch.view.record.warnings, ...absentRequests(context, catalog)];
  await records.updateAsLeader(leaderEpoch, { ...begun, warnings }, signal);
  stepDone('syncBegun');
}

/** What is to be made on the destination for a catalog. */
export function planOf(context: MigrationContext, catalog: Catalog): DestinationPlan {
  const { buildIndexes } = context.watch.view.record.options;
  return planDestination(catalog, { source: context.source, destination: context.destination, buildIndexes });
}

/**
 * The balancers' states are recorded before they are stopped, once: a later leader finds them off. The record is looked at
 * once more afterwards, for a leader that comes too late.
 */
export async function stopBalancers(context: MigrationContext, leaderEpoch: number, signal: AbortSignal): Promise<void> {
  const { runtime, source, destination, records, watch } = context;
  let { balancers } = watch.view.record;
  if (balancers === null) {
    const isOn = async (cluster: Cluster) => (await runtime.retrying('look at a balancer', () => readBalancer(cluster, { signal }), signal))?.enabled === true;
    balancers = { source: await isOn(source), destination: await isOn(destination) };
    await records.updateAsLeader(leaderEpoch, { balancers }, signal);
  }
  stepDone('balancersRecorded');
  await Promise.all([source, destination].map((cluster) => runtime.retrying('stop a balancer', () => stopBalancer(cluster, { signal }), signal)));
  const record = await records.read(signal);
  if (record === null || isOpeningDecided(record)) {
    const before = balancersAfter({ balancers, reversal: watch.view.record.reversal ?? null });
    for (const side of ['destination', 'source'] as const) await restoreBalancer(context, side, before, signal);
  }
  await records.confirmLeader(leaderEpoch, signal);
}

/** What is to become of the balancers once the migration is committed: while it can be reversed, the new cluster's chunks stay where they are. */
export function balancersAfter({ balancers, reversal }: Pick<MigrationRecord, 'balancers' | 'reversal'>): NonNullable<MigrationRecord['balancers']> {
  const { source, destination } = balancers ?? { source: false, destination: false };
  return { source, destination: destination && !reversal };
}

/** Starts a balancer that was on; also behind a leader that was frozen before it stopped it, and thaws when it has been started again. */
export async function restoreBalancer(
  context: Pick<MigrationContext, 'runtime' | 'source' | 'destination'>,
  side: 'source' | 'destination',
  before: NonNullable<MigrationRecord['balancers']>,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, [side]: cluster } = context;
  await runtime.retrying('restore a balancer', () => startAgain(cluster, { enabled: before[side], busy: false }, { signal }), signal);
}

/** Collections sampled at the same time. */
const samplesParallel = 8;

/**
 * Through a router every instance reads a range of the large collections, which all have to agree about.
 * @param side whose catalog it is; the destination's is read as it will be once it is the source
 */
export async function withShareBounds(context: MigrationContext, side: 'source' | 'destination', catalog: Catalog, signal: AbortSignal): Promise<Catalog> {
  const { runtime, [side]: cluster, watch } = context;
  const access = side === 'source' ? cluster.access : (watch.view.record.reversal?.accessBack ?? cluster.access);
  if (access === 'direct') return catalog;
  const bounds = (entry: CatalogEntry) => runtime.retrying('sample _ids', () => sampleShareBounds(cluster, entry, signal), signal);
  return mapBounded(catalog, samplesParallel, async (entry) => ({ ...entry, shareBounds: await bounds(entry) }));
}
