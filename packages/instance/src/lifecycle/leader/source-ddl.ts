import type { Catalog, CatalogEntry } from '../../catalog/namespace.js';
import type { DestinationPlan } from '../../catalog/plan/destination-plan.js';
import { readCollectionByUuid } from '../../catalog/read/read-catalog.js';
import { withSampledRanges } from '../../catalog/read/sample-ranges.js';
import { sampleTaskBounds } from '../../catalog/task-bounds.js';
import { planOf } from './initialise.js';
import { type MigrationDependencies, withRequestedSharding } from '../migration/migration-dependencies.js';

/** One collection of the source as it is now, with its requested shard key and task bounds; null when it is gone. */
export async function readSourceCollection(
  deps: MigrationDependencies,
  database: string,
  uuid: string,
  signal: AbortSignal,
): Promise<CatalogEntry | null> {
  const { source } = deps;
  const entry = await readCollectionByUuid(source, database, uuid, signal);
  if (entry === null) return null;
  const [planned] = withRequestedSharding(deps, [entry]);
  if (planned === undefined || source.access === 'direct') return planned ?? null;
  return { ...planned, taskBounds: await sampleTaskBounds(source, planned, signal) };
}

/**
 * A catalog of the source with the shard keys of the destination. A collection keeps its requested one, even after a
 * rename.
 */
export function withFollowedSharding(
  deps: MigrationDependencies,
  catalog: Catalog,
  followed: ReadonlyMap<string, CatalogEntry>,
): Catalog {
  if (deps.watch.view.record.options.sharding === undefined) return catalog;
  return catalog.flatMap((entry) => {
    const known = followed.get(entry.uuid);
    return known === undefined ? withRequestedSharding(deps, [entry]) : [{ ...entry, sharding: known.sharding }];
  });
}

/** What to create for one collection that appeared during the migration. */
export function planNewCollection(
  deps: MigrationDependencies,
  entry: CatalogEntry,
  signal: AbortSignal,
): Promise<DestinationPlan> {
  return withSampledRanges(planOf(deps, [entry]), deps.source, deps.destination, signal);
}
