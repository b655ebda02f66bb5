import { carriedKinds } from '@convoy/api/contract/carry';
import type { Inventory } from '@convoy/api/contract/inventory';
import type { StartRequest } from '@convoy/api/contract/start-request';
import type { ClusterClient } from '../cluster/node-client.js';
import { CarryChoice } from './carry-choice.js';
import { compareInventories, leftBehind, tableOf } from './compare-inventories.js';
import type { ClusterInventory } from './item.js';
import { readInventory } from './read-inventory.js';
import type { FormerBalancer } from './read/sharding-settings.js';

/** Both clusters of a migration in their present roles. */
export interface InventoryOf {
  readonly source: ClusterClient;
  readonly destination: ClusterClient;
  readonly request: StartRequest;
  /** How often the clusters have swapped their roles. */
  readonly turns: number;
  /** Whether a reverse would be possible now. */
  readonly reverses: boolean;
  /** The balancers before the migration stopped them; null where it has not. */
  readonly former: { readonly source: FormerBalancer | null; readonly destination: FormerBalancer | null } | null;
  readonly now_ms: number;
}

/** Both clusters' items, read one after the other kind by kind and at the same time on both. */
export async function readBoth(
  { source, destination, former }: Pick<InventoryOf, 'source' | 'destination' | 'former'>,
  signal: AbortSignal,
): Promise<{ source: ClusterInventory; destination: ClusterInventory }> {
  const [here, there] = await Promise.all([
    readInventory(source, former?.source ?? null, signal),
    readInventory(destination, former?.destination ?? null, signal),
  ]);
  return { source: here, destination: there };
}

/** The inventory of both clusters, and what of it stays behind. */
export interface Taken {
  readonly inventory: Inventory;
  readonly left: readonly string[];
}

/**
 * Reads both clusters and compares them.
 * @throws what a cluster that cannot be reached throws
 */
export async function takeInventory(of: InventoryOf, signal: AbortSignal): Promise<Taken> {
  return inventoryOf(of, await readBoth(of, signal));
}

/** The inventory of two clusters that have been read. */
export function inventoryOf(
  { request, turns, reverses, now_ms }: Pick<InventoryOf, 'request' | 'turns' | 'reverses' | 'now_ms'>,
  { source, destination }: { source: ClusterInventory; destination: ClusterInventory },
): Taken {
  const choice = new CarryChoice(request, turns % 2 === 1);
  const rows = compareInventories(source, destination, choice);
  const inventory: Inventory = {
    at_ms: now_ms,
    source: source.cluster,
    destination: destination.cluster,
    carry: carriedKinds.filter((kind) => choice.kinds.has(kind)),
    ...tableOf(rows, source, destination, choice),
    reverse: reverses ? reverseTable(request, turns, source, destination) : null,
  };
  return { inventory, left: leftBehind(rows, choice) };
}

function reverseTable(
  request: StartRequest,
  turns: number,
  source: ClusterInventory,
  destination: ClusterInventory,
): Inventory['reverse'] {
  const back = new CarryChoice(request, turns % 2 === 0);
  return tableOf(compareInventories(destination, source, back), destination, source, back);
}
