import { addZones, removeZones } from './place-chunks.js';
import { createCollection, type CreatedCollection, type Making } from './create-collection.js';
import { type IndexBuildProgress, IndexBuilds } from './index-builds.js';
import type { DestinationPlan } from '../plan/destination-plan.js';
import { makeDatabase } from './make-database.js';
import { mapBounded } from '../../async/together.js';
import { readConfig } from '../read/read-sharding.js';

/** Collections created concurrently: DDL takes locks on the config servers, so a larger number does not help. */
const COLLECTIONS_PARALLEL = 4;

/**
 * Creates everything planned on the destination: databases on their primary shards, collections with options, chunks on
 * their shards, indexes in their temporary form, views. Callers may repeat it at any point: it checks and keeps what
 * exists. Both balancers must be off. At the end it removes the zones used for placing chunks, including those of an
 * interrupted attempt.
 * @param onProgress called at the beginning and after every finished collection
 * @returns one row for every collection and view, in the plan's order, with both UUIDs for the caller to record
 * @throws as `createCollection`
 */
export async function createCollections(
  making: Making,
  plan: DestinationPlan,
  onProgress?: (progress: IndexBuildProgress) => void,
): Promise<CreatedCollection[]> {
  const { destination, signal } = making;
  const isSharded = destination.kind === 'sharded';
  if (isSharded) {
    await createDatabases(making, plan);
    await removeZones(destination, signal);
    if (plan.collections.some((collection) => collection.sharding !== null)) await addZones(destination, signal);
  }
  const progress = new IndexBuilds(plan.collections, onProgress);
  const created = await mapBounded(plan.collections, COLLECTIONS_PARALLEL, async (collection) => {
    const row = await createCollection(making, collection);
    progress.finish(collection);
    return row;
  });
  if (isSharded) {
    await removeZones(destination, signal);
    // Routers may still have the new collections cached as unsharded.
    await destination.router.command('admin', { flushRouterConfig: 1 }, { signal });
  }
  return created;
}

/** An existing database keeps its primary shard; only databases with sharded collections need to be enabled. */
async function createDatabases(making: Making, plan: DestinationPlan): Promise<void> {
  const { destination, signal } = making;
  const rows = await readConfig(destination.router, { find: 'databases', filter: {} }, signal);
  const present = new Map(rows.map((row) => [row._id as string, row]));
  for (const [database, primaryShard] of plan.databases) {
    const row = present.get(database);
    if (row !== undefined && row.partitioned !== false) continue;
    const primary = row === undefined && primaryShard !== null ? { primaryShard } : {};
    await makeDatabase(making, database, () =>
      destination.router.command('admin', { enableSharding: database, ...primary }, { signal }),
    );
  }
}
