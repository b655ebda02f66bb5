import type { Inventory, InventoryAction } from '@convoy/api/contract/inventory';
import {
  inventoryCells,
  type InventoryCells,
  inventorySummary,
} from '@convoy/coordinator/dashboard/views/inventory-view';
import type { CheckResult, PreflightItem } from '@convoy/instance/preflight/examination';

/** A line of the report: a check of the clusters, or of settings that only the command line sees. */
export type Finding = Omit<PreflightItem, 'check' | 'names'> & {
  readonly check: string;
  readonly names?: readonly string[] | undefined;
};

/** What `convoy check` reports. */
export interface CheckReport {
  readonly canStart: boolean;
  readonly items: readonly Readonly<Finding>[];
}

/** Word and sign of each result; the sign never stands alone. */
const resultWords: Readonly<Record<CheckResult, string>> = {
  passed: '✓ passed',
  warning: '! warning',
  failed: '✗ failed',
  unchecked: '? unchecked',
};

const resultWidth = Math.max(...Object.values(resultWords).map((word) => word.length));

/** What needs a decision first; within a group the order of the checks. */
const groups: readonly CheckResult[] = ['failed', 'warning', 'unchecked', 'passed'];

/**
 * The report as text: what prevents a start, what to read before one, what nobody checked, and then what is right. The
 * names of those that failed, or warn before a start, stand at the end again.
 * @param verbose also lists the names that a check counts
 */
export function preflightLines(
  { canStart, items }: CheckReport,
  { verbose = false }: { readonly verbose?: boolean } = {},
): string[] {
  const checkWidth = Math.max(...items.map(({ check }) => check.length));
  const sorted = groups.map((result) => items.filter((item) => item.result === result));
  const blocks = sorted
    .filter((group) => group.length > 0)
    .map((group) => group.flatMap((item) => [line(item, checkWidth), ...(verbose ? nameLines(item) : [])]));
  const namesOf = (wanted: CheckResult): string =>
    [...new Set(items.flatMap(({ check, result }) => (result === wanted ? [check] : [])))].join(', ');
  const warnings = namesOf('warning');
  const closing = canStart
    ? `A migration can start with these options${warnings === '' ? '' : `; read the warnings first: ${warnings}`}.`
    : `A migration cannot start: ${namesOf('failed')}.`;
  const hidden = verbose ? [] : items.filter(({ names = [] }) => names.length > 0).map(({ check }) => check);
  const hint = hidden.length === 0 ? [] : [`--verbose lists the names of: ${hidden.join(', ')}.`];
  return [...blocks.flatMap((block) => [...block, '']), ...hint, closing];
}

function line({ check, result, error, description }: Finding, checkWidth: number): string {
  const named = error === null ? description : `${error}: ${description}`;
  return `${resultWords[result].padEnd(resultWidth)}  ${check.padEnd(checkWidth)}  ${named}`;
}

function nameLines({ names = [] }: Finding): string[] {
  return names.map((name) => `  ${name}`);
}

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
