import type {
  Inventory,
  InventoryAction,
  InventoryKind,
  InventoryRow,
  InventoryTable,
} from '@convoy/api/contract/inventory';
import { countText } from './quantity.js';

/** Names of the kinds for people. */
const inventoryKindTexts: Readonly<Record<InventoryKind, string>> = {
  zones: 'Zones',
  balancing: 'Balancing of a collection',
  users: 'Users',
  roles: 'Roles',
  defaultConcerns: 'Default concerns',
  clusterParameters: 'Cluster parameters',
  querySettings: 'Query settings',
  ownCollections: 'Own collections in admin, config and local',
  balancer: 'Balancer',
  chunkSize: 'Chunk size',
  autoMerger: 'AutoMerger',
  profiler: 'Profiler',
  primaries: 'Primary shards',
  functions: 'Stored functions',
  preImages: 'Pre-images',
  validators: 'Validators that warn',
};

/** Names of the actions for people. */
const inventoryActionTexts: Readonly<Record<InventoryAction, string>> = {
  carried: 'carried at the commit',
  migrated: 'migrated',
  equal: 'on both',
  kept: 'kept on the destination',
  leftBehind: 'left behind',
  differs: 'differs',
  excluded: 'not included',
  own: 'each its own',
  notReadable: 'not readable',
};

/** The cells of a row of an inventory. */
export type InventoryCells = Record<'kind' | 'name' | 'source' | 'destination' | 'action' | 'description', string>;

/** A row of an inventory as text. */
export function inventoryCells({ kind, name, source, destination, action, description }: InventoryRow): InventoryCells {
  return {
    kind: inventoryKindTexts[kind],
    name: name === '' ? '–' : name,
    source: source ?? '–',
    destination: destination ?? '–',
    action: inventoryActionTexts[action],
    description,
  };
}

/** A table with the clusters that its columns are about. */
export interface InventoryPart {
  readonly table: InventoryTable;
  readonly source: string;
  readonly destination: string;
}

/** The tables of an inventory: as things are, and as a reverse would find them, null where none is possible. */
export function inventoryParts(inventory: Inventory): { forward: InventoryPart; back: InventoryPart | null } {
  const { source, destination, reverse } = inventory;
  return {
    forward: { table: inventory, source, destination },
    back: reverse === null ? null : { table: reverse, source: destination, destination: source },
  };
}

/** What an inventory says in one line: first what stays behind. */
export function inventorySummary({ rows, unlisted }: InventoryTable): string {
  const count = (action: InventoryRow['action']): number => rows.filter((row) => row.action === action).length;
  const left = count('leftBehind');
  const parts = [
    ...(left === 0 ? ['✓ Nothing that is known of stays behind'] : [`▲ ${countText(left)} left behind`]),
    ...(count('differs') === 0 ? [] : [`${countText(count('differs'))} different`]),
    ...(count('carried') === 0 ? [] : [`${countText(count('carried'))} carried at the commit`]),
    ...(count('notReadable') === 0 ? [] : [`${countText(count('notReadable'))} not readable`]),
    ...(unlisted === 0 ? [] : [`${countText(unlisted)} without a row`]),
  ];
  return `${parts.join(', ')}.`;
}
