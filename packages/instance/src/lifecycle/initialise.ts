import { createCollections } from '../catalog/create-collections.js';
import { planDestination, type DestinationPlan } from '../catalog/destination-plan.js';
import type { Catalog } from '../catalog/namespace.js';
import { withSampledRanges } from '../catalog/sample-ranges.js';
import { storedEntry } from '../catalog/stored-catalog.js';
import { stopBalancer } from '../cluster/balancer.js';
import { appendNote, highestTime, timestampOf } from '../cluster/cluster-time.js';
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
  const startTime = await timeAboveAll(context, signal);
  const catalog = await runtime.retrying('read the source catalog', () => readSourceCatalog(context, signal), signal);
  await context.metadata.deleteMany('collections', {}, signal);
  await storeEntries(context.metadata, catalog.map(storedEntry), signal);
  const plan = await runtime.retrying('sample shard keys', () => withSampledRanges(planOf(context, catalog), context.source, destination, signal), signal);
  await runtime.retrying(
    'make collections',
    () => createCollections({ destination, plan, signal, onProgress: (progress) => context.onIndexProgress(progress) }),
    signal,
  );
  const estimatedTotalBytes = catalog.reduce((sum, entry) => sum + entry.sizeBytes, 0);
  await records.updateAsLeader(
    leaderEpoch,
    { phase: 'syncing', startTime: timestampOf(startTime), estimatedTotalBytes: Math.max(1, Math.round(estimatedTotalBytes)) },
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

/** An oplog note on every shard: its time lies above everything that was written there before. */
export async function timeAboveAll(context: MigrationContext, signal: AbortSignal): Promise<bigint> {
  const { runtime, source } = context;
  const notes = source.shardIds.map((id) => runtime.retrying('append an oplog note', () => appendNote(source.shard(id), { signal }), signal));
  return highestTime(await Promise.all(notes));
}
