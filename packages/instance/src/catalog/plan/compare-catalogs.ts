import type { Document } from 'mongodb';
import { sameDocument } from '../canonical-text.js';
import { optionDifferences } from '../collection-options.js';
import { type IndexRules, planIndexes, shardingOn } from './index-plan.js';
import { sameShardKey } from '../catalog-changes.js';
import { isIdIndex, portableIndex } from '../index-spec.js';
import { type Catalog, type CatalogEntry, type Sharding, namespaceOf } from '../namespace.js';
import type { NamespaceRemap } from '../namespace-remap.js';

/** One way in which the destination differs from the plan. */
export interface CatalogDifference {
  kind: 'missing' | 'extra' | 'options' | 'index' | 'shardKey';
  /** `database.collection` on the destination. */
  namespace: string;
  /** Names of options, or the index with what is wrong with it; never values of documents. */
  detail: string;
}

export interface CompareOptions extends IndexRules {
  /** `temporary`: before commit, while attributes are deferred; `final`: after Convoy has restored them. */
  form: 'temporary' | 'final';
  remap: NamespaceRemap;
}

/**
 * Compares what the destination should have with what it has, both read with the same filter of the source's
 * namespaces.
 * @param source for a migration from a replica set to a sharded cluster: as `applyShardingEntries` returns it
 * @returns differences in order of namespace; empty if there are none
 */
export function compareCatalogs(source: Catalog, destination: Catalog, options: CompareOptions): CatalogDifference[] {
  const found = new Map(destination.map((entry) => [namespaceOf(entry), entry]));
  const wanted = source.map((entry) => options.remap.onDestination(entry));
  const expected = new Set(wanted.map(namespaceOf));
  const differences = wanted.flatMap((entry) => compareEntry(entry, found.get(namespaceOf(entry)), options));
  const extra = destination
    .filter((entry) => !expected.has(namespaceOf(entry)))
    .map((entry) => difference('extra', entry, `${entry.type} is not on the source`));
  return [...differences, ...extra].sort(byNamespace);
}

type Named = Pick<CatalogDifference, 'namespace'>;

/** Orders differences by their namespaces. */
export function byNamespace({ namespace: a }: Named, { namespace: b }: Named): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareEntry(
  expected: CatalogEntry,
  found: CatalogEntry | undefined,
  options: CompareOptions,
): CatalogDifference[] {
  if (found === undefined) return [difference('missing', expected, expected.type)];
  if (found.type !== expected.type)
    return [difference('options', expected, `is a ${found.type}, should be a ${expected.type}`)];
  const names = optionDifferences(expected, found, options.form);
  const sharding = shardingOn(options.destination, expected);
  return [
    ...(names.length === 0 ? [] : [difference('options', expected, names.join(', '))]),
    ...compareIndexes(expected, found, options),
    ...(sameShardKey(sharding, found.sharding)
      ? []
      : [difference('shardKey', expected, describeShardKeys(sharding, found.sharding))]),
  ];
}

function compareIndexes(expected: CatalogEntry, found: CatalogEntry, options: CompareOptions): CatalogDifference[] {
  const plans = planIndexes(expected, options).indexes;
  const wanted = plans.flatMap((plan) =>
    options.form === 'final' ? [plan.final] : plan.temporary === null ? [] : [plan.temporary],
  );
  const present = new Map(
    found.indexes
      .filter((index) => !isIdIndex(index))
      .map((index) => [index.name as string, portableIndex(namespaceOf(found), index).index]),
  );
  const building = new Set((found.buildingIndexes ?? []).map(({ name }) => name as string));
  const wrong = wanted.flatMap((index) => {
    const there = present.get(index.name as string);
    if (building.has(index.name as string)) return [];
    if (there === undefined) return [difference('index', expected, `${String(index.name)} is missing`)];
    const attributes = differingAttributes(index, there);
    return attributes.length === 0
      ? []
      : [difference('index', expected, `${String(index.name)} differs in ${attributes.join(', ')}`)];
  });
  const names = new Set(wanted.map((index) => index.name as string));
  const extra = [...present.keys(), ...(found.inconsistentIndexes ?? []).map(({ index }) => index)]
    .filter((name) => !names.has(name))
    .map((name) => difference('index', expected, `${name} is extra`));
  // One that is being built may yet fail: it is no index.
  const unfinished = [...building].map((name) => difference('index', expected, `${name} is being built`));
  return [...wrong, ...extra, ...unfinished];
}

function differingAttributes(a: Document, b: Document): string[] {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
  return names.filter((name) => !sameDocument({ value: a[name] as unknown }, { value: b[name] as unknown }));
}

function describeShardKeys(expected: Sharding | null, found: Sharding | null): string {
  return `is ${describeShardKey(found)}, should be ${describeShardKey(expected)}`;
}

function describeShardKey(sharding: Sharding | null): string {
  if (sharding === null) return 'unsharded';
  const fields = [...sharding.key].map(([field, value]) => `${field}: ${String(value)}`).join(', ');
  return `sharded by ${sharding.unique ? 'unique ' : ''}{${fields}}`;
}

function difference(kind: CatalogDifference['kind'], entry: CatalogEntry, detail: string): CatalogDifference {
  return { kind, namespace: namespaceOf(entry), detail };
}
