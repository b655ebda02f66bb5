import type { Inventory } from '@convoy/api/contract/inventory';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { namedFailure } from '../../cluster/named-failure.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { takeInventory } from '../../inventory/take-inventory.js';
import { type ClusterName, requireClusterName } from '../migration/clusters.js';
import { inventoryOfMigration } from '../migration/inventory-of.js';
import type { Runtime } from '../migration/runtime.js';
import type { MigrationRun } from '../run/migration-run.js';

/**
 * What both clusters have besides data: of the migration that runs, otherwise of the clusters that a start would take.
 * @param reach connects to a configured cluster
 * @throws ConvoyError `clusterUnknown`, or why a cluster cannot be read
 */
export async function findInventory(
  runtime: Runtime,
  run: Pick<MigrationRun, 'deps' | 'view'> | null,
  reach: (name: ClusterName) => Promise<ClusterClient>,
  request: StartRequest,
  signal: AbortSignal,
): Promise<Inventory> {
  try {
    if (run !== null) return (await takeInventory(inventoryOfMigration(run.deps, run.view.record), signal)).inventory;
    const source = await reach(requireClusterName(request.source));
    const destination = await reach(requireClusterName(request.destination));
    const of = { source, destination, request, turns: 0, reverses: false, former: null };
    return (await takeInventory({ ...of, now_ms: runtime.clock.now_ms() }, signal)).inventory;
  } catch (error) {
    throw error instanceof ConvoyError ? error : namedFailure(error);
  }
}
