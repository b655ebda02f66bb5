import type { Warning } from '@convoy/api/contract/progress';
import type { Document } from 'mongodb';
import { indexSignature, isIdIndex, portableIndex, TTL_OFF_SECONDS } from '../index-spec.js';
import { isKeyPrefix, type KeyPattern, keyOf, sameKey } from '../key-pattern.js';
import type { CatalogEntry } from '../namespace.js';
import { namespaceOf } from '../namespace.js';
import { withoutFields } from '../without-fields.js';

/** One index of a collection on the destination. The index on `_id` has none: it is always there. */
export interface IndexPlan {
  /** As `listIndexes` shows it once committed (without `v`). */
  final: Document;
  /** As it stands until commit; null when another index serves meanwhile and this one is only built at commit. */
  temporary: Document | null;
}

/** What decides about the form of indexes besides the source's catalog. */
export interface IndexPlanDependencies {
  buildIndexes: 'beforeDataCopy' | 'never';
  /** Version of the destination: it decides how indexes become unique. */
  destinationVersion: readonly [number, number, number];
}

/** How a destination turns a plain index into a unique one. */
export type UniqueConversion = 'inPlace' | 'beside' | 'instead';

/** Begin of the names of plain indexes that stand for unique ones until commit (destinations before 6.0). */
export const TEMPORARY_INDEX_PREFIX = 'convoy_temporary_';

/** Begin of the names of placeholder indexes, used only where the server's own name is taken by another index. */
const PLACEHOLDER_PREFIX = 'convoy_shard_key_';

/**
 * From 6.0 on an index is converted in place; on 5.0 the unique one is built beside the plain one and takes its place;
 * on 4.4 both cannot stand together, so the plain one goes first.
 */
export function uniqueConversion(version: readonly [number, number, number]): UniqueConversion {
  if (version[0] >= 6) return 'inPlace';
  return version[0] >= 5 ? 'beside' : 'instead';
}

/**
 * Plans the indexes of one collection on the destination. Until commit unique ones are plain (the unique shard key
 * excepted, which the server demands), TTL ones never expire, hidden ones are visible. With `buildIndexes` `never` only
 * what a shard key needs is built. A shard key without supporting index gets a placeholder, which is kept.
 */
export function planIndexes(
  entry: CatalogEntry,
  deps: IndexPlanDependencies,
): { indexes: IndexPlan[]; warnings: Warning[] } {
  if (entry.type === 'view') return { indexes: [], warnings: [] };
  const namespace = namespaceOf(entry);
  const portable = entry.indexes.filter((index) => !isIdIndex(index)).map((index) => portableIndex(namespace, index));
  const warnings = portable.flatMap((one) => one.warnings);
  const all = portable.map((one) => one.index);
  const shardKey = entry.sharding?.key;
  const supporting =
    shardKey === undefined ? undefined : supportingIndex(all, shardKey, entry.sharding?.unique === true);
  const wanted = deps.buildIndexes === 'never' ? (supporting === undefined ? [] : [supporting]) : all;
  const finals = [...wanted];
  if (shardKey !== undefined && supporting === undefined && !isIdKey(shardKey)) {
    finals.push(placeholderIndex(shardKey, entry.sharding?.unique === true, all));
    warnings.push({
      name: 'shardKeyIndexAdded',
      description: `${namespace} has no index that supports its shard key; one is added and kept.`,
    });
  }
  return { indexes: deferAttributes(finals, entry, deps), warnings };
}

/**
 * The index of a list that a shard key can lean on: the key is its prefix, and it is neither sparse nor partial nor
 * under a collation. The exact key is preferred to longer ones.
 * @param unique only an index that makes the key itself unique
 */
export function supportingIndex(
  indexes: readonly Document[],
  shardKey: KeyPattern,
  unique: boolean,
): Document | undefined {
  const able = indexes.filter(
    (index) =>
      index.sparse !== true &&
      index.partialFilterExpression === undefined &&
      isSimpleCollation(index.collation) &&
      isKeyPrefix(shardKey, keyOf(index)),
  );
  const exact = able.filter((index) => sameKey(shardKey, keyOf(index)));
  if (unique) return exact.find((index) => index.unique === true);
  return exact.find((index) => index.unique !== true) ?? exact[0] ?? able[0];
}

/** Whether a key is the one of the index that every collection has. */
export function isIdKey(key: KeyPattern): boolean {
  return sameKey(key, new Map([['_id', 1]]));
}

/** `listIndexes` shows the simple collation by showing none. */
export function isSimpleCollation(collation: unknown): boolean {
  return collation === undefined || (collation as Document).locale === 'simple';
}

/** A plain (or unique) index on the shard key under the name the server itself would give it. */
function placeholderIndex(shardKey: KeyPattern, unique: boolean, others: readonly Document[]): Document {
  const defaultName = [...shardKey].map(([field, value]) => `${field}_${String(value)}`).join('_');
  const taken = others.some((index) => index.name === defaultName);
  const name = taken ? `${PLACEHOLDER_PREFIX}${defaultName}` : defaultName;
  return unique ? { key: shardKey, name, unique } : { key: shardKey, name };
}

function deferAttributes(finals: readonly Document[], entry: CatalogEntry, deps: IndexPlanDependencies): IndexPlan[] {
  const conversion = uniqueConversion(deps.destinationVersion);
  const keepsUnique = (index: Document): boolean =>
    entry.sharding?.unique === true && sameKey(keyOf(index), entry.sharding.key);
  const isDeferred = (index: Document): boolean => index.unique === true && !keepsUnique(index);
  const standing = new Set(finals.filter((index) => !isDeferred(index)).map(indexSignature));
  return finals.map((final) => {
    if (!isDeferred(final)) return { final, temporary: dormant(final) };
    const plain = withoutFields(dormant(final), 'unique');
    const signature = indexSignature(plain);
    if (standing.has(signature)) return { final, temporary: null };
    standing.add(signature);
    if (conversion === 'inPlace') return { final, temporary: plain };
    const bare = withoutFields(plain, 'expireAfterSeconds');
    return { final, temporary: { ...bare, name: `${TEMPORARY_INDEX_PREFIX}${String(final.name)}` } };
  });
}

/** An index with the attributes that act on data or queries switched off. */
function dormant(index: Document): Document {
  const visible = withoutFields(index, 'hidden', 'prepareUnique');
  return 'expireAfterSeconds' in visible ? { ...visible, expireAfterSeconds: TTL_OFF_SECONDS } : visible;
}
