import { optionDifferences, portableOptions } from '../catalog/collection-options.js';
import { createCollection } from '../catalog/make/create-collection.js';
import type { CollectionPlan } from '../catalog/plan/destination-plan.js';
import type { Catalog, CatalogEntry } from '../catalog/namespace.js';
import { namespaceOf } from '../catalog/namespace.js';
import type { Cluster } from '../cluster/door.js';
import { type DestinationContext, drop } from './destination-collections.js';

/** What bringing views into line needs. */
export interface ViewsContext extends DestinationContext {
  destination: Cluster;
  plan(view: CatalogEntry): CollectionPlan;
}

/**
 * Brings the views of the destination to the source's: makes, changes and drops them. A name that a collection still has
 * is left to the journal. Views on views need no order: servers take a view of what is not there.
 */
export async function reconcileViews(context: ViewsContext, source: Catalog, found: Catalog, signal: AbortSignal): Promise<void> {
  const wanted = new Map(source.filter(({ type }) => type === 'view').map((view) => [namespaceOf(view), view]));
  const present = new Map(found.map((entry) => [namespaceOf(entry), entry]));
  for (const [namespace, entry] of present) {
    if (entry.type === 'view' && !wanted.has(namespace)) await dropView(context, entry, signal);
  }
  for (const [namespace, view] of wanted) {
    const there = present.get(namespace);
    if (there === undefined) await makeView(context, view, signal);
    else if (there.type === 'view') await changeView(context, view, there, signal);
  }
}

async function changeView(context: ViewsContext, view: CatalogEntry, there: CatalogEntry, signal: AbortSignal): Promise<void> {
  const differing = optionDifferences(view, there, 'temporary');
  if (differing.length === 0) return;
  if (differing.every((option) => option === 'viewOn' || option === 'pipeline')) {
    const { viewOn, pipeline } = portableOptions(view).options;
    const command = { collMod: view.name, viewOn: viewOn as unknown, pipeline: pipeline as unknown, writeConcern: { w: 'majority' } };
    await context.confirm(signal);
    await context.destination.router.command(view.database, command, { signal });
    return;
  }
  await dropView(context, there, signal);
  await makeView(context, view, signal);
}

async function makeView(context: ViewsContext, view: CatalogEntry, signal: AbortSignal): Promise<void> {
  const making = { destination: context.destination, signal, confirm: () => context.confirm(signal) };
  await createCollection(making, context.plan(view));
}

function dropView(context: ViewsContext, view: CatalogEntry, signal: AbortSignal): Promise<void> {
  return drop(context, view, signal);
}
