import { carriedKinds } from '@convoy/api/contract/carry';
import type { Inventory } from '@convoy/api/contract/inventory';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { type Clock, systemClock } from '../async/clock.js';
import { nameSome } from '../catalog/name-some.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { CarryChoice, carryProblems } from '../inventory/carry-choice.js';
import {
  compareInventories,
  describeLeftBehind,
  itemsToCarry,
  leftBehindWarning,
} from '../inventory/compare-inventories.js';
import type { ClusterInventory } from '../inventory/item.js';
import { inventoryOf, type readBoth } from '../inventory/take-inventory.js';
import { type Advice, type Examination, unchecked, warning } from './examination.js';

/** What is examined, and who receives what both clusters have besides data. */
interface InventoryCheck {
  source: ClusterClient;
  destination: ClusterClient;
  request: StartRequest;
  clock?: Clock;
  onInventory?: (inventory: Inventory) => void;
}

/** What the clusters have besides data: what the commit can take along, and what stays behind. */
export async function examineInventory(
  check: InventoryCheck,
  found: Awaited<ReturnType<typeof readBoth>>,
  examination: Examination,
): Promise<void> {
  const { request, clock = systemClock, onInventory } = check;
  const taken = inventoryOf({ request, turns: 0, reverses: false, now_ms: clock.now_ms() }, found);
  onInventory?.(taken.inventory);
  await examination.check('carry', () => checkCarry(check, found));
  await examination.advise('inventory', () => adviseLeftBehind(taken.left, found.source));
}

/**
 * Whether the commit can take along what `carry` names.
 * @returns the finding
 * @throws ConvoyError `carryNotPossible`
 */
function checkCarry(
  { source, destination, request }: InventoryCheck,
  found: { source: ClusterInventory; destination: ClusterInventory },
): string {
  const choice = new CarryChoice(request, false);
  const problems = carryProblems({ source, destination }, found, choice);
  if (problems.length > 0) throw new ConvoyError('carryNotPossible', problems.join(' '));
  if (choice.kinds.size === 0) return 'carry names nothing: the commit takes along nothing but collections.';
  const items = itemsToCarry(compareInventories(found.source, found.destination, choice));
  const kinds = carriedKinds.filter((kind) => choice.kinds.has(kind)).join(', ');
  return `As things are now, the commit carries ${items.length} items of ${kinds}.`;
}

/**
 * What of the source stays behind, by name, and what is not readable.
 * @param left kinds and names
 */
function adviseLeftBehind(left: readonly string[], source: ClusterInventory): Advice {
  if (left.length > 0) return warning(leftBehindWarning, describeLeftBehind(left));
  const hidden = [...source.unreadable].filter(([kind]) => kind !== 'profiler');
  if (hidden.length === 0) return 'Nothing that is known of stays behind on the source.';
  const reasons = [...new Set(hidden.map(([, reason]) => reason))];
  return unchecked(`Not readable on the source: ${hidden.map(([kind]) => kind).join(', ')}. ${nameSome(reasons)}`);
}
