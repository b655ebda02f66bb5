import { carriedKinds } from '@convoy/api/contract/carry';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
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
import { type Advice, unchecked, warning } from './examination.js';

interface Found {
  source: ClusterInventory;
  destination: ClusterInventory;
}

/**
 * Whether the commit can take along what `carry` names.
 * @returns the finding
 * @throws ConvoyError `carryNotPossible`
 */
export function checkCarry(
  { source, destination, request }: { source: ClusterClient; destination: ClusterClient; request: StartRequest },
  found: Found,
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
export function checkInventory(left: readonly string[], source: ClusterInventory): Advice {
  if (left.length > 0) return warning(leftBehindWarning, describeLeftBehind(left));
  const hidden = [...source.unreadable].filter(([kind]) => kind !== 'profiler');
  if (hidden.length === 0) return 'Nothing that is known of stays behind on the source.';
  const reasons = [...new Set(hidden.map(([, reason]) => reason))];
  return unchecked(`Not readable on the source: ${hidden.map(([kind]) => kind).join(', ')}. ${nameSome(reasons)}`);
}
