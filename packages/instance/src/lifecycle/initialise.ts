import { createCollections } from '../catalog/create-collections.js';
import { planDestination, type DestinationPlan } from '../catalog/destination-plan.js';
import { mapBounded } from '../catalog/map-bounded.js';
import type { Catalog, CatalogEntry } from '../catalog/namespace.js';
import { withSampledRanges } from '../catalog/sample-ranges.js';
import { sampleShareBounds } from '../catalog/share-bounds.js';
import { storedEntry } from '../catalog/stored-catalog.js';
import { stopBalancer } from '../cluster/balancer.js';
import { timeAboveAll, timestampOf } from '../cluster/cluster-time.js';
import type { Cluster } from '../cluster/door.js';
import { createFence } from '../store/fence.js';
import { storeEntries } from '../store/share-storage.js';
import { type MigrationContext, readSourceCatalog } from './migration-context.js';

/**
 * The leader's first work: both balancers at rest, the start time taken above every shard's running operations, the
 * catalog as it is after that stored, collections and indexes made. Every step may be repeated by a later leader.
 */
export async function initialise(context: MigrationContext, leaderEpoch: number, signal: AbortSignal): Promise<void> {
  const { runtime, destination, records } = context;
  await stopBalancers(context, leaderEpoch, signal);
  await runtime.retrying('make the fence', () => createFence(destination.router, destination.kind, destination.shardIds, { signal }), signal);
  const startTime = await sourceTimeAboveAll(context, signal);
  const catalog = await runtime.retrying('read the source catalog', () => readSourceCatalog(context, signal), signal);
  await storeEntries(context.metadata, leaderEpoch, (await withShareBounds(context, catalog, signal)).map(storedEntry), signal);
  const plan = await runtime.retrying('sample shard keys', () => withSampledRanges(planOf(context, catalog), context.source, destination, signal), signal);
  await runtime.retrying(
    'make collections',
    () => createCollections({ destination, plan, signal, onProgress: (progress) => context.onIndexProgress(progress) }),
    signal,
  );
  const estimatedTotalBytes = catalog.reduce((sum, entry) => sum + entry.sizeBytes, 0);
  await records.updateAsLeader(
    leaderEpoch,
    { phase: 'syncing', catalogEpoch: leaderEpoch, startTime: timestampOf(startTime), estimatedTotalBytes: Math.max(1, Math.round(estimatedTotalBytes)) },
    signal,
  );
}

/** What is to be made on the destination for a catalog. */
export function planOf(context: MigrationContext, catalog: Catalog): DestinationPlan {
  const { buildIndexes } = context.watch.view.record.options;
  return planDestination(catalog, { source: context.source, destination: context.destination, buildIndexes });
}

/** The balancers' states are recorded before they are stopped, once. */
async function stopBalancers(context: MigrationContext, leaderEpoch: number, signal: AbortSignal): Promise<void> {
  const { runtime, source, destination, records, watch } = context;
  const stop = (cluster: Cluster) => runtime.retrying('stop a balancer', () => stopBalancer(cluster, { signal }), signal);
  const before = await Promise.all([stop(source), stop(destination)]);
  if (watch.view.record.balancers !== null) return;
  const balancers = { source: before[0]?.enabled === true, destination: before[1]?.enabled === true };
  await records.updateAsLeader(leaderEpoch, { balancers }, signal);
}

/** A time above everything that was written to the source before. */
export function sourceTimeAboveAll({ runtime, source }: MigrationContext, signal: AbortSignal): Promise<bigint> {
  return runtime.retrying('take a time of the source', () => timeAboveAll(source, { signal }), signal);
}

/** Collections sampled at the same time. */
const samplesParallel = 8;

/** Through a router every instance reads a range of the large collections, which all have to agree about. */
async function withShareBounds({ runtime, source }: MigrationContext, catalog: Catalog, signal: AbortSignal): Promise<Catalog> {
  if (source.access === 'direct') return catalog;
  const bounds = (entry: CatalogEntry) => runtime.retrying('sample _ids', () => sampleShareBounds(source, entry, signal), signal);
  return mapBounded(catalog, samplesParallel, async (entry) => ({ ...entry, shareBounds: await bounds(entry) }));
}
