import type { Document, Timestamp } from 'mongodb';
import { shownName } from '../cluster/time-series.js';
import { optionDifferences } from './collection-options.js';
import {
  canonicalText,
  type Catalog,
  type CatalogEntry,
  type Chunk,
  namespaceOf,
  sameDocument,
  sameKey,
  type Sharding,
} from './namespace.js';
import { ownershipRanges } from './distribution.js';
import { type IndexRules, planIndexes, shardingOn } from './index-plan.js';
import { isIdIndex, portableIndex } from './index-spec.js';
import type { NamespaceRemap } from './namespace-remap.js';

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
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => name !== 'originalSpec').sort();
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
  return { kind, namespace: shownName(entry), detail };
}

/** What DDL did to one collection or view between two reads of a catalog; `entry` is from the later read. */
export type CatalogChange =
  | { kind: 'created'; entry: CatalogEntry }
  | { kind: 'dropped'; entry: CatalogEntry }
  /** The same collection (by UUID) under another name. */
  | { kind: 'renamed'; before: CatalogEntry; entry: CatalogEntry }
  | { kind: 'options'; before: CatalogEntry; entry: CatalogEntry }
  | {
      kind: 'indexes';
      entry: CatalogEntry;
      added: Document[];
      dropped: Document[];
      modified: { before: Document; after: Document }[];
    }
  /** Sharded, resharded, refined or unsharded. */
  | { kind: 'shardKey'; before: CatalogEntry; entry: CatalogEntry }
  /** Chunks of a sharded collection moved, even if they moved back. Splits and merges alone are no change. */
  | { kind: 'chunksMoved'; before: CatalogEntry; entry: CatalogEntry }
  /** An unsharded collection or a database's primary moved to another shard, even if it moved back. */
  | { kind: 'primaryShard'; before: CatalogEntry; entry: CatalogEntry };

/**
 * The changes between two reads of one cluster's catalog with the same filter. Collections are matched by UUID, views
 * by name. A collection that was dropped and recreated is a drop and a creation. One renamed into or out of the filter
 * is a creation or a drop. Drops come first, then renames, then everything else in order of namespace.
 */
export function catalogChanges(before: Catalog, after: Catalog): CatalogChange[] {
  const earlier = new Map(before.map((entry) => [identityOf(entry), entry]));
  const later = new Map(after.map((entry) => [identityOf(entry), entry]));
  const dropped = before
    .filter((entry) => !later.has(identityOf(entry)))
    .map((entry): CatalogChange => ({ kind: 'dropped', entry }));
  const renamed: CatalogChange[] = [];
  const others: CatalogChange[] = [];
  for (const entry of after) {
    const old = earlier.get(identityOf(entry));
    if (old === undefined) {
      others.push({ kind: 'created', entry });
      continue;
    }
    if (namespaceOf(old) !== namespaceOf(entry)) renamed.push({ kind: 'renamed', before: old, entry });
    others.push(...entryChanges(old, entry));
  }
  return [...dropped, ...renamed, ...others];
}

/** A view has no UUID. Its name cannot be mistaken for one, because it contains a dot. */
function identityOf(entry: CatalogEntry): string {
  return entry.uuid === '' ? `${entry.type} ${namespaceOf(entry)}` : entry.uuid;
}

function entryChanges(before: CatalogEntry, entry: CatalogEntry): CatalogChange[] {
  const changes: CatalogChange[] = [];
  if (!sameDocument(before.options, entry.options)) changes.push({ kind: 'options', before, entry });
  const indexes = indexChanges(before, entry);
  if (indexes !== null) changes.push(indexes);
  if (!sameShardKey(before.sharding, entry.sharding)) changes.push({ kind: 'shardKey', before, entry });
  else if (!sameOwners(before.sharding, entry.sharding)) changes.push({ kind: 'chunksMoved', before, entry });
  if (before.primaryShard !== entry.primaryShard || hasReturned(before, entry))
    changes.push({ kind: 'primaryShard', before, entry });
  return changes;
}

function indexChanges(before: CatalogEntry, entry: CatalogEntry): CatalogChange | null {
  const old = byName(before.indexes);
  const current = byName(entry.indexes);
  const added = entry.indexes.filter((index) => !old.has(index.name as string));
  const dropped = before.indexes.filter((index) => !current.has(index.name as string));
  const modified = entry.indexes.flatMap((after) => {
    const was = old.get(after.name as string);
    return was === undefined || sameDocument(was, after) ? [] : [{ before: was, after }];
  });
  if (added.length + dropped.length + modified.length === 0) return null;
  return { kind: 'indexes', entry, added, dropped, modified };
}

function byName(indexes: readonly Document[]): Map<string, Document> {
  return new Map(indexes.map((index) => [index.name as string, index]));
}

/** Whether two collections have the same shard key, or both have none. */
function sameShardKey(a: Sharding | null, b: Sharding | null): boolean {
  if (a === null || b === null) return a === b;
  return a.unique === b.unique && sameKey(a.key, b.key);
}

/** Whether the database's primary is where it was, but was elsewhere in the meantime. */
function hasReturned(before: CatalogEntry, entry: CatalogEntry): boolean {
  return (
    before.primaryVersion !== undefined &&
    entry.primaryVersion !== undefined &&
    before.primaryVersion !== entry.primaryVersion
  );
}

function sameOwners(a: Sharding | null, b: Sharding | null): boolean {
  if (hasMoved(a?.chunks ?? [], b?.chunks ?? [])) return false;
  const owners = (sharding: Sharding | null): string =>
    ownershipRanges(sharding?.chunks ?? [])
      .map((range) => canonicalText({ ...range }))
      .join('\n');
  return owners(a) === owners(b);
}

/**
 * Whether a chunk moved between two reads, even if all chunks are back where they were. A move gives its chunk a
 * version with the greatest major number so far, and a new `onCurrentShardSince`. Splits and merges keep the major
 * number. Other operations that raise it (a rename, `collMod`, `clearJumboFlag`; 5.0.7 and later) keep the time.
 */
function hasMoved(before: readonly Chunk[], after: readonly Chunk[]): boolean {
  const [version, ownedSince] = [
    greatest(before.map((chunk) => chunk.version)),
    greatest(before.map((chunk) => chunk.ownedSince)),
  ];
  // Stored by an earlier release.
  if (version === null || ownedSince === null) return false;
  return after.some(
    (chunk) => (chunk.version?.t ?? 0) > version.t && chunk.ownedSince?.greaterThan(ownedSince) !== false,
  );
}

function greatest(times: readonly (Timestamp | undefined)[]): Timestamp | null {
  return times.reduce<Timestamp | null>(
    (most, time) => (time === undefined || most?.greaterThan(time) === true ? most : time),
    null,
  );
}
