import type { Inventory, InventoryAction } from '@convoy/api/contract/inventory';
import {
  inventoryCells,
  type InventoryCells,
  inventorySummary,
} from '@convoy/coordinator/dashboard/views/inventory-view';

/** What an operator may have to decide about. */
const shown: ReadonlySet<InventoryAction> = new Set(['carried', 'leftBehind', 'differs', 'excluded', 'notReadable']);

/** Characters of a cell; longer ones are cut. */
const cellMax = 40;

const columns = ['kind', 'name', 'source', 'destination', 'action'] as const;

/**
 * An inventory as a table with a line for what to do. Without `verbose`, rows that need no decision are left out.
 * @returns nothing when it could not be read, or has no such rows
 */
export function inventoryLines(
  inventory: Inventory | null,
  { verbose = false }: { readonly verbose?: boolean } = {},
): string[] {
  const rows = (inventory?.rows ?? []).filter(({ action }) => verbose || shown.has(action)).map(inventoryCells);
  if (inventory === null || rows.length === 0) return [];
  const heads = ['What', 'Name', `On ${inventory.source}`, `On ${inventory.destination}`, 'What Convoy does'];
  const widths = columns.map((column, at) =>
    Math.max(heads[at]?.length ?? 0, ...rows.map((row) => cut(row[column]).length)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => cut(cell).padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd();
  return [
    `Besides data: ${inventorySummary(inventory)}`,
    line(heads),
    ...rows.flatMap((row) => [line(columns.map((column) => row[column])), ...adviceOf(row)]),
    '',
  ];
}

function adviceOf({ description }: InventoryCells): string[] {
  return /^(Nothing|The commit|Convoy)/.test(description) || description === '' ? [] : [`  ${description}`];
}

function cut(text: string): string {
  return text.length > cellMax ? `${text.slice(0, cellMax - 1)}…` : text;
}
