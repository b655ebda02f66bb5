import type { Document } from 'mongodb';
import { canonicalText, sameDocument } from './canonical-text.js';
import { hasMoved, ownershipRanges } from './chunk-ranges.js';
import { sameKey } from './key-pattern.js';
import { type Catalog, type CatalogEntry, type Sharding, namespaceOf } from './namespace.js';

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
export function sameShardKey(a: Sharding | null, b: Sharding | null): boolean {
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
