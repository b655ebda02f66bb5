import { planCollection, type PlanDependencies } from '../catalog/plan/destination-plan.js';
import { holdsDocuments } from '../catalog/read/holds-documents.js';
import { mapBounded } from '../catalog/map-bounded.js';
import type { Catalog, CatalogEntry } from '../catalog/namespace.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { drop, type DestinationDependencies, findByUuid } from './destination-collections.js';
import { reconcileIndexes } from './reconcile-indexes.js';
import { reconcileOptions } from './reconcile-options.js';
import { reconcileViews } from './reconcile-views.js';

/** Collections brought into line at the same time: most need nothing, and an index build loads the destination. */
const collectionsParallel = 4;

/** What bringing the destination's definitions into line needs. */
export interface ShapeDependencies extends DestinationDependencies {
  source: ClusterClient;
  destination: ClusterClient;
  buildIndexes: PlanDependencies['buildIndexes'];
  /** Whether the journal has a say about the collection just now: it is left alone. */
  isChanging(sourceUuid: string): boolean;
  /** Whether a collection of this name is followed. */
  isFollowedName(database: string, name: string): boolean;
  /** Runs work while no entry of the journal is applied. */
  exclusively(work: () => Promise<void>): Promise<void>;
}

/**
 * Brings indexes, options and views of the destination to the source's, as they stand before the commit. What is compared
 * by state may be repeated at any time.
 * @param source as read just now, with requested shard keys
 * @param found the destination's catalog with the same filter
 * @throws what the doors throw; `indexNotSupported` when the destination refuses an index
 */
export async function reconcileShape(
  deps: ShapeDependencies,
  source: Catalog,
  found: Catalog,
  signal: AbortSignal,
): Promise<void> {
  const planned = (entry: CatalogEntry) => planCollection(entry, deps).plan;
  const present = new Map(found.map((entry) => [entry.uuid, entry]));
  const pairs = source.flatMap((entry) => {
    const uuid = entry.type === 'view' || deps.isChanging(entry.uuid) ? null : deps.pairs.destinationOf(entry.uuid);
    const there = uuid === null ? undefined : present.get(uuid);
    return there === undefined ? [] : [{ entry, there }];
  });
  await mapBounded(pairs, collectionsParallel, async ({ entry, there }) => {
    const { database, name } = there;
    await reconcileOptions(deps, entry, there, signal);
    await reconcileIndexes(deps, planned({ ...entry, database, name }), there, signal);
  });
  await reconcileViews({ ...deps, plan: planned }, source, found, signal);
  await dropStrays(deps, found, signal);
}

/**
 * An index build that comes too late makes an empty collection under a name that was dropped or renamed meanwhile.
 * Nothing else has collections here that stand for none of the source.
 */
async function dropStrays(deps: ShapeDependencies, found: Catalog, signal: AbortSignal): Promise<void> {
  for (const { database, name, type, uuid } of found) {
    if (type === 'view' || deps.pairs.isRecorded(uuid) || deps.isFollowedName(database, name)) continue;
    await deps.exclusively(() => dropStray(deps, database, uuid, name, signal));
  }
}

async function dropStray(
  deps: ShapeDependencies,
  database: string,
  uuid: string,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  if (deps.pairs.isRecorded(uuid)) return;
  const listed = await findByUuid(deps, database, uuid, signal);
  if (listed?.name !== name) return;
  if (!(await holdsDocuments(deps.destination.router, listed, signal))) await drop(deps, listed, signal);
}
