import type { Catalog, CatalogEntry } from '../../catalog/namespace.js';
import type { DestinationPlan } from '../../catalog/plan/destination-plan.js';
import { readCatalogReport, readCollectionByUuid } from '../../catalog/read/read-catalog.js';
import { withSampledRanges } from '../../catalog/read/sample-ranges.js';
import { sampleTaskBounds } from '../../catalog/task-bounds.js';
import { refuseUnsupported } from '../../catalog/read/unsupported-collections.js';
import { planOf } from './initialise.js';
import { filterOf, type MigrationDependencies, withRequestedSharding } from '../migration/migration-dependencies.js';

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
  const [sharded] = withRequestedSharding(deps, [entry]);
  if (sharded === undefined || source.access === 'direct') return sharded ?? null;
  return { ...sharded, taskBounds: await sampleTaskBounds(source, sharded, signal) };
}

/**
 * The source's catalog as it is now. A collection keeps its requested shard key, even after a rename.
 * @throws ConvoyError for collections of kinds that cannot be migrated
 */
export async function readFollowedCatalog(
  deps: MigrationDependencies,
  followed: ReadonlyMap<string, CatalogEntry>,
  signal: AbortSignal,
): Promise<Catalog> {
  const report = await readCatalogReport(deps.source, filterOf(deps.watch.view.record), signal);
  refuseUnsupported(report);
  if (deps.watch.view.record.options.sharding === undefined) return report.catalog;
  return report.catalog.flatMap((entry) => {
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
