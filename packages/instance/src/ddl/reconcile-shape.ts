import { planCollection, type PlanContext } from '../catalog/plan/destination-plan.js';
import { holdsDocuments } from '../catalog/read/holds-documents.js';
import { mapBounded } from '../catalog/map-bounded.js';
import type { Catalog, CatalogEntry } from '../catalog/namespace.js';
import type { Cluster } from '../cluster/door.js';
import { drop, type DestinationContext, findByUuid } from './destination-collections.js';
import { reconcileIndexes } from './reconcile-indexes.js';
import { reconcileOptions } from './reconcile-options.js';
import { reconcileViews } from './reconcile-views.js';

/** Collections brought into line at the same time: most need nothing, and an index build loads the destination. */
const collectionsParallel = 4;

/** What bringing the destination's definitions into line needs. */
export interface ShapeContext extends DestinationContext {
  source: Cluster;
  destination: Cluster;
  buildIndexes: PlanContext['buildIndexes'];
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
export async function reconcileShape(context: ShapeContext, source: Catalog, found: Catalog, signal: AbortSignal): Promise<void> {
  const planned = (entry: CatalogEntry) => planCollection(entry, context).plan;
  const present = new Map(found.map((entry) => [entry.uuid, entry]));
  const pairs = source.flatMap((entry) => {
    const uuid = entry.type === 'view' || context.isChanging(entry.uuid) ? null : context.pairs.destinationOf(entry.uuid);
    const there = uuid === null ? undefined : present.get(uuid);
    return there === undefined ? [] : [{ entry, there }];
  });
  await mapBounded(pairs, collectionsParallel, async ({ entry, there }) => {
    const { database, name } = there;
    await reconcileOptions(context, entry, there, signal);
    await reconcileIndexes(context, planned({ ...entry, database, name }), there, signal);
  });
  await reconcileViews({ ...context, plan: planned }, source, found, signal);
  await dropStrays(context, found, signal);
}

/**
 * An index build that comes too late makes an empty collection under a name that was dropped or renamed meanwhile.
 * Nothing else has collections here that stand for none of the source.
 */
async function dropStrays(context: ShapeContext, found: Catalog, signal: AbortSignal): Promise<void> {
  for (const { database, name, type, uuid } of found) {
    if (type === 'view' || context.pairs.isRecorded(uuid) || context.isFollowedName(database, name)) continue;
    await context.exclusively(() => dropStray(context, database, uuid, name, signal));
  }
}

async function dropStray(context: ShapeContext, database: string, uuid: string, name: string, signal: AbortSignal): Promise<void> {
  if (context.pairs.isRecorded(uuid)) return;
  const listed = await findByUuid(context, database, uuid, signal);
  if (listed?.name !== name) return;
  if (!(await holdsDocuments(context.destination.router, listed, signal))) await drop(context, listed, signal);
}
