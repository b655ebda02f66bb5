import { createCollection } from '../../catalog/make/create-collection.js';
import type { CollectionPlan } from '../../catalog/plan/destination-plan.js';
import { listCollections } from '../../catalog/read/list-namespaces.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { Retrying } from '../../cluster/retry.js';
import { drop } from '../../ddl/destination-collections.js';

/** What making a capped collection anew needs. */
export interface RecreateDependencies {
  destination: ClusterClient;
  retrying: Retrying;
  /** Rejects when another process works on the share; asked right before the collection is taken away, and before anything is made. */
  confirm(signal: AbortSignal): Promise<void>;
}

/**
 * Puts an empty capped collection in place of one that was partly copied: documents cannot be deleted from it. Sessions
 * fence no drops: what another process may have made and copied since is told by the epoch, and by its UUID.
 * @throws ConvoyError `staleEpoch` when another process works on the share; as `createCollection`
 */
export async function recreateCapped(
  deps: RecreateDependencies,
  plan: CollectionPlan,
  signal: AbortSignal,
): Promise<void> {
  const { destination, retrying } = deps;
  const { database, name } = plan.entry;
  const empty = async (): Promise<void> => {
    const [listed] = await listCollections(destination.router, database, signal, name);
    if (listed !== undefined) await drop(deps, listed, signal);
  };
  await retrying('empty a capped collection', empty, signal);
  const making = { destination, signal, confirm: () => deps.confirm(signal) };
  await retrying('make a capped collection', () => createCollection(making, plan), signal);
}
