import type { Carry } from '@convoy/api/contract/carry';
import type { NamespaceSelector } from '@convoy/api/contract/filter';
import type { Progress } from '@convoy/api/contract/progress';
import type { Sharding } from '@convoy/api/contract/sharding';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { remapsText } from './remap-text.js';

/** One option of the migration. */
export interface OptionView {
  readonly name: string;
  readonly value: string;
}

/** Options that are no text and no switch, in words. */
const texts: Partial<{ readonly [Name in keyof StartRequest]: (value: NonNullable<StartRequest[Name]>) => string }> = {
  verification: ({ enabled }) => switchText(enabled),
  includeNamespaces: filterText,
  excludeNamespaces: filterText,
  copyInNaturalOrder: filterText,
  namespaceRemap: remapsText,
  carry: carryText,
  sharding: shardingText,
};

/** Without a filter nothing is left out. */
const emptyTexts: Readonly<Record<string, string>> = { includeNamespaces: 'everything' };

/** The options of a start, for the dashboard and the command line. */
export function optionViews(options: Progress['options'] | StartRequest): OptionView[] {
  return Object.entries(options ?? {}).map(([name, value]) => ({ name, value: valueText(name, value) }));
}

function valueText(name: string, value: unknown): string {
  if (typeof value === 'boolean') return switchText(value);
  if (value === null || (Array.isArray(value) && value.length === 0)) return emptyTexts[name] ?? 'none';
  if (typeof value === 'string') return value;
  const inWords = texts[name as keyof StartRequest] as ((known: unknown) => string) | undefined;
  return inWords?.(value) ?? JSON.stringify(value);
}

function switchText(isOn: boolean): string {
  return isOn ? 'yes' : 'no';
}

function filterText(selectors: readonly NamespaceSelector[]): string {
  return selectors.flatMap(selectorTexts).join(', ');
}

/** As `--include` takes them; patterns between slashes. */
function selectorTexts({ database, databaseRegex, collections, collectionsRegex }: NamespaceSelector): string[] {
  const pattern = (regex: typeof databaseRegex): string[] =>
    regex === undefined ? [] : [`/${regex.pattern}/${regex.options}`];
  const [left = ''] = database === undefined ? pattern(databaseRegex) : [database];
  const names = [...(collections ?? []), ...pattern(collectionsRegex)];
  return names.length === 0 ? [left] : names.map((name) => `${left}.${name}`);
}

function carryText(carry: Carry): string {
  const shards = (zones: Readonly<Record<string, string>>): string =>
    Object.entries(zones)
      .map(([from, to]) => `${from} → ${to}`)
      .join(', ');
  return carry.map((one) => (typeof one === 'string' ? one : `zones (${shards(one.zones)})`)).join(', ');
}

function shardingText({ createSupportingIndexes, shardingEntries }: Sharding): string {
  const keys = shardingEntries.map(
    ({ database, collection, shardCollection: { key } }) =>
      `${database}.${collection} by ${JSON.stringify(Object.assign({}, ...key))}`,
  );
  return [...keys, ...(createSupportingIndexes ? ['with supporting indexes'] : [])].join(', ');
}
