import { createHash } from 'node:crypto';
import type { Warning } from '@convoy/api/contract/progress';
import type { StartRequest } from '@convoy/api/contract/start-request';
import type { Document } from 'mongodb';
import { failureName } from '../cluster/failure.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { seriesOf, shownName } from '../cluster/time-series.js';
import { indexSignature, isIdIndex, portableIndex, TTL_OFF_SECONDS } from './index-spec.js';
import {
  canonicalText,
  type CatalogEntry,
  isKeyPrefix,
  type KeyPattern,
  keyPattern,
  sameKey,
  type Sharding,
  withoutFields,
} from './namespace.js';
import { isCollated } from './task-bounds.js';

/** One index of a collection on the destination. The `_id` index needs no plan: it always exists. */
export interface IndexPlan {
  /** As `listIndexes` shows it after the commit (without `v`). */
  final: Document;
  /** Its form until commit; null if another index serves in the meantime and this one is only built at commit. */
  temporary: Document | null;
  /** The index is unique on the source, and stays as it is until the commit: documents violate it. */
  staysPlain?: true;
}

/** Which indexes the destination should have now. */
export interface PlannedIndexes {
  indexScope: IndexScope;
  /** Indexes that the destination could not build. One that a shard key needs is never skipped. */
  skipped?: readonly SkippedIndex[] | undefined;
}

/** What determines the form of indexes besides the source's catalog. */
export interface IndexRules extends PlannedIndexes {
  /** Its version determines how indexes become unique; a replica set has no shard keys. */
  destination: Pick<ClusterClient, 'kind' | 'version'>;
}

/** How a destination converts a plain index to a unique one. */
type UniqueConversion = 'inPlace' | 'beside' | 'instead';

/** Prefix of the names of plain indexes that replace unique ones until commit (destinations before 6.0). */
export const TEMPORARY_INDEX_PREFIX = 'convoy_temporary_';

/** Prefix of the names of placeholder indexes; used only if another index has the server's default name. */
const PLACEHOLDER_PREFIX = 'convoy_shard_key_';

/**
 * From 6.0 on, an index is converted in place. On 5.0, the unique index is built beside the plain one and replaces it.
 * On 4.4 both cannot coexist, so the plain one is dropped first.
 */
export function uniqueConversion(version: readonly [number, number, number]): UniqueConversion {
  if (version[0] >= 6) return 'inPlace';
  return version[0] >= 5 ? 'beside' : 'instead';
}

/**
 * Plans the indexes of one collection on the destination. Until commit, unique indexes are plain (except a unique shard
 * key, which the server requires), TTL indexes never expire and hidden indexes are visible. A shard key's index is
 * planned in every scope. A shard key without supporting index gets a placeholder, which stays. The last visible index
 * of a shard key is not hidden where the destination refuses that.
 */
export function planIndexes(entry: CatalogEntry, deps: IndexRules): { indexes: IndexPlan[]; warnings: Warning[] } {
  if (entry.type === 'view') return { indexes: [], warnings: [] };
  const namespace = shownName(entry);
  const portable = entry.indexes.filter((index) => !isIdIndex(index)).map((index) => portableIndex(namespace, index));
  const warnings = portable.flatMap((one) => one.warnings);
  const all = portable.map((one) => one.index);
  const sharding = shardingOn(deps.destination, entry);
  const needed = sharding ?? writtenBy(entry);
  const supporting = needed === null ? undefined : supportingIndex(all, needed.key, needed.unique);
  const inScope = all.filter((index) => index === supporting || isInScope(index, deps.indexScope));
  const outcomeOf = (index: Document): SkippedIndex['outcome'] | undefined =>
    index === supporting ? undefined : skipOf(deps.skipped, entry.uuid, index)?.outcome;
  const finals = inScope.filter((index) => outcomeOf(index) === undefined);
  if (sharding !== null && supporting === undefined && !isIdKey(sharding.key)) {
    finals.push(placeholderIndex(sharding.key, sharding.unique, all));
    warnings.push({
      name: 'shardKeyIndexAdded',
      description: `${namespace} has no index for its shard key. Convoy adds one, which stays after the commit.`,
    });
  }
  const seen = hidesLastOfKey(finals, sharding, deps);
  if (seen !== undefined) {
    finals[finals.indexOf(seen)] = withoutFields(seen, 'hidden');
    warnings.push({
      name: 'shardKeyIndexVisible',
      description:
        `The source hides ${String(seen.name)} of ${namespace}, the only index for its shard key. ` +
        'The destination refuses to hide it, so it stays visible.',
    });
  }
  const staying = inScope
    .filter((index) => outcomeOf(index) === 'notUnique')
    .map((index) => withoutFields(index, 'unique', 'prepareUnique'))
    .filter((index) => !finals.some((other) => indexSignature(other) === indexSignature(index)))
    .map((final): IndexPlan => ({ final, temporary: dormant(final), staysPlain: true }));
  const deferred = deferAttributes(finals, sharding, deps);
  const indexes = seriesOf(entry.name) === null ? deferred : deferred.map(withoutExpiry);
  return { indexes: [...indexes, ...staying], warnings };
}

/** First release that is known to refuse it. */
const keepsKeyIndexVisible = 8;

/**
 * The hidden index that the destination refuses to hide, since no visible one supports the shard key; undefined if
 * there is none. Servers allow that for hashed keys.
 */
function hidesLastOfKey(
  finals: readonly Document[],
  sharding: Sharding | null,
  { destination }: IndexRules,
): Document | undefined {
  if (sharding === null || isIdKey(sharding.key) || destination.version[0] < keepsKeyIndexVisible) return undefined;
  if ([...sharding.key.values()].includes('hashed')) return undefined;
  const visible = finals.filter(({ hidden }) => hidden !== true);
  if (supportingIndex(visible, sharding.key, false) !== undefined) return undefined;
  return supportingIndex(finals, sharding.key, sharding.unique);
}

/** The index of a plan that a shard key, or a statement by its fields, needs: it is never skipped. */
export function neededIndex(
  { entry, indexes }: { entry: CatalogEntry; indexes: readonly IndexPlan[] },
  sharding: Pick<Sharding, 'key' | 'unique'> | null,
): IndexPlan | undefined {
  const needed = sharding ?? writtenBy(entry);
  if (needed === null) return undefined;
  const temporaries = indexes.flatMap(({ temporary }) => (temporary === null ? [] : [temporary]));
  const supporting = supportingIndex(temporaries, needed.key, needed.unique);
  return indexes.find(({ temporary }) => temporary !== null && temporary === supporting);
}

/** How the destination distributes a collection; null on a replica set, which has no shard keys. */
export function shardingOn(destination: Pick<ClusterClient, 'kind'>, { sharding }: CatalogEntry): Sharding | null {
  return destination.kind === 'sharded' ? sharding : null;
}

/**
 * The key by which Convoy's statements find documents of a replica set that come from a sharded collection, where the
 * `_id` index does not serve them: they have the simple collation, and the index has the collection's.
 */
function writtenBy(entry: CatalogEntry): Pick<Sharding, 'key' | 'unique'> | null {
  return entry.sharding === null || !isCollated(entry) ? null : { key: entry.sharding.key, unique: false };
}

function isInScope(index: Document, scope: IndexScope): boolean {
  if (scope === 'shardKey') return false;
  return scope === 'all' || ![...keyPattern(index).values()].includes('hashed');
}

/**
 * Finds the index that supports a shard key: the key is its prefix, and it is not sparse, not partial and has the
 * simple collation. An index on exactly the key is preferred to longer ones.
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
      isKeyPrefix(shardKey, keyPattern(index)),
  );
  const exact = able.filter((index) => sameKey(shardKey, keyPattern(index)));
  if (unique) return exact.find((index) => index.unique === true);
  return exact.find((index) => index.unique !== true) ?? exact[0] ?? able[0];
}

/** Whether a key is that of the `_id` index. */
export function isIdKey(key: KeyPattern): boolean {
  return sameKey(key, new Map([['_id', 1]]));
}

/** `listIndexes` omits the simple collation. */
export function isSimpleCollation(collation: unknown): boolean {
  return collation === undefined || (collation as Document).locale === 'simple';
}

/** A plain (or unique) index on the shard key, with the server's default name. */
function placeholderIndex(shardKey: KeyPattern, unique: boolean, others: readonly Document[]): Document {
  const defaultName = [...shardKey].map(([field, value]) => `${field}_${String(value)}`).join('_');
  const taken = others.some((index) => index.name === defaultName);
  const name = taken ? `${PLACEHOLDER_PREFIX}${defaultName}` : defaultName;
  return unique ? { key: shardKey, name, unique } : { key: shardKey, name };
}

function deferAttributes(finals: readonly Document[], sharding: Sharding | null, deps: IndexRules): IndexPlan[] {
  const conversion = uniqueConversion(deps.destination.version);
  const keepsUnique = (index: Document): boolean =>
    sharding?.unique === true && sameKey(keyPattern(index), sharding.key);
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

/** Servers cannot switch on the TTL index of a time series later: it is only built at the commit (8.0.10: collMod). */
function withoutExpiry({ final, temporary }: IndexPlan): IndexPlan {
  return { final, temporary: final.expireAfterSeconds === undefined ? temporary : null };
}

/** Whether an index is only built at the commit, so that it expires nothing before. */
export function isBuiltToExpire({ final, temporary }: IndexPlan): boolean {
  return temporary === null && final.unique !== true;
}

/** An index without the attributes that affect data or queries. */
function dormant(index: Document): Document {
  // What the user of a time series wrote says itself whether the index is hidden, and servers keep that.
  const visible = withoutFields(index, ...(index.originalSpec === undefined ? ['hidden'] : []), 'prepareUnique');
  return 'expireAfterSeconds' in visible ? { ...visible, expireAfterSeconds: TTL_OFF_SECONDS } : visible;
}

/** The source's indexes that the destination has at a time. An index that a shard key needs is always among them. */
export type IndexScope = 'all' | 'notHashed' | 'shardKey';

type BuildIndexes = StartRequest['buildIndexes'];

/** Values of `buildIndexes` that build indexes once everything is copied. */
const AFTER_COPY: ReadonlySet<BuildIndexes> = new Set(['afterDataCopy', 'excludeHashedAfterCopy']);

/** Whether indexes are built once everything is copied; until then the destination has what shard keys need. */
export function isBuiltAfterCopy(buildIndexes: BuildIndexes): boolean {
  return AFTER_COPY.has(buildIndexes);
}

/** The indexes that the destination has at the commit. */
export function finalIndexScope(buildIndexes: BuildIndexes): IndexScope {
  if (buildIndexes === 'never') return 'shardKey';
  return buildIndexes === 'beforeDataCopy' || buildIndexes === 'afterDataCopy' ? 'all' : 'notHashed';
}

/** An index that the destination could not build, as the migration's record has it. */
export interface SkippedIndex {
  /** UUID of its collection on the source. */
  uuid: string;
  /** `database.collection` on the source, when the build failed. */
  namespace: string;
  index: string;
  /** SHA-256 of the definition: another one under the same name is tried anew. */
  definition: string;
  /** The destination does not have the index, or has it without being unique. */
  outcome: 'absent' | 'notUnique';
  /** Whether the index is unique on the source: nothing enforces that after the commit. */
  unique: boolean;
  /** The server's name and code of the failure, without values. */
  failure: string;
}

/** Attributes that `collMod` changes and that no build depends on. */
const CHANGEABLE = ['hidden', 'prepareUnique', 'expireAfterSeconds'] as const;

/**
 * Identifies a definition.
 * @param index of the source, in portable form
 */
export function definitionOf(index: Document): string {
  return createHash('sha256')
    .update(canonicalText(withoutFields(index, ...CHANGEABLE)))
    .digest('hex');
}

/**
 * The entry of the record about an index that the destination could not build.
 * @param collection its UUID and namespace on the source
 * @param final the index in portable form
 * @param failure what the server threw
 */
export function skippedIndexOf(
  collection: Pick<SkippedIndex, 'uuid' | 'namespace'>,
  final: Document,
  outcome: SkippedIndex['outcome'],
  failure: unknown,
): SkippedIndex {
  return {
    ...collection,
    index: String(final.name),
    definition: definitionOf(final),
    outcome,
    unique: final.unique === true,
    failure: failureName(failure),
  };
}

/**
 * How an index of the source is skipped, if it is.
 * @param index in portable form
 */
export function skipOf(
  skipped: readonly SkippedIndex[] | undefined,
  uuid: string,
  index: Document,
): SkippedIndex | undefined {
  return skipped?.find(
    (one) => one.uuid === uuid && one.index === index.name && one.definition === definitionOf(index),
  );
}
