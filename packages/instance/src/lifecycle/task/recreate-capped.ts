import { createCollection } from '../../catalog/make/create-collection.js';
import type { CollectionPlan } from '../../catalog/plan/destination-plan.js';
import { listCollections } from '../../catalog/read/list-namespaces.js';
import type { Retrying } from '../../async/retry.js';
import { drop, type LedDestination } from '../../ddl/destination-collections.js';

/**
 * Replaces a partly copied capped collection with an empty one, since its documents cannot be deleted. Sessions do not
 * fence drops: the epoch and the UUID show what another process may have created and copied since.
 * @param deps `confirm` rejects when another process owns the task
 * @throws ConvoyError `staleEpoch` when another process owns the task; as `createCollection`
 */
export async function recreateCapped(
  deps: Pick<LedDestination, 'destination' | 'confirm'>,
  plan: CollectionPlan,
  retrying: Retrying,
  signal: AbortSignal,
): Promise<void> {
  const { destination } = deps;
  const { database, name } = plan.entry;
  const empty = async () => {
    const [listed] = await listCollections(destination.router, database, signal, name);
    if (listed !== undefined) await drop(deps, listed, signal);
  };
  await retrying('empty a capped collection', empty, signal);
  const making = { destination, signal, confirm: () => deps.confirm(signal) };
  await retrying('create a capped collection', () => createCollection(making, plan), signal);
}
