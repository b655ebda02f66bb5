import { optionDifferences, portableOptions } from '../catalog/collection-options.js';
import { createCollection } from '../catalog/create-collections.js';
import { namingView } from '../catalog/views.js';
import type { CollectionPlan } from '../catalog/destination-plan.js';
import { type Catalog, type CatalogEntry, namespaceOf } from '../catalog/namespace.js';
import { type LedDestination, drop } from './destination-collections.js';

type Changing = Pick<LedDestination, 'destination' | 'confirm'>;

/**
 * Brings the views of the destination to the source's: creates, changes and drops them. Skips a name that a collection
 * still has: the journal handles it. Views on views need no order: servers allow a view on a missing namespace.
 */
export async function reconcileViews(
  deps: Changing,
  views: readonly CollectionPlan[],
  found: Catalog,
  signal: AbortSignal,
): Promise<void> {
  const wanted = new Map(views.map((plan) => [namespaceOf(plan.entry), plan]));
  const present = new Map(found.map((entry) => [namespaceOf(entry), entry]));
  for (const [namespace, entry] of present) {
    if (entry.type === 'view' && !wanted.has(namespace)) await drop(deps, entry, signal);
  }
  for (const [namespace, plan] of wanted) {
    const there = present.get(namespace);
    if (there === undefined) await makeView(deps, plan, signal);
    else if (there.type === 'view') await changeView(deps, plan, there, signal);
  }
}

async function changeView(
  deps: Changing,
  plan: CollectionPlan,
  there: CatalogEntry,
  signal: AbortSignal,
): Promise<void> {
  const view = plan.entry;
  const differing = optionDifferences(view, there, 'temporary');
  if (differing.length === 0) return;
  if (differing.every((option) => option === 'viewOn' || option === 'pipeline')) {
    const { viewOn, pipeline } = portableOptions(view).options;
    const command = {
      collMod: view.name,
      viewOn: viewOn as unknown,
      pipeline: pipeline as unknown,
      writeConcern: { w: 'majority' },
    };
    await deps.confirm(signal);
    await deps.destination.router.command(view.database, command, { signal }).catch((failure: unknown) => {
      throw namingView(view, failure);
    });
    return;
  }
  await drop(deps, there, signal);
  await makeView(deps, plan, signal);
}

async function makeView(deps: Changing, plan: CollectionPlan, signal: AbortSignal): Promise<void> {
  const making = { destination: deps.destination, signal, confirm: () => deps.confirm(signal) };
  await createCollection(making, plan);
}
