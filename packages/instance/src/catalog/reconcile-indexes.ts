import type { Document } from 'mongodb';
import { codeOf, serverErrorCode } from '../cluster/failure.js';
import type { Version } from '../cluster/node-client.js';
import {
  buildMissing,
  changeIndex,
  dropIndex,
  type IndexBuilding,
  isBuiltAs,
  sendCreateIndexes,
} from './build-indexes.js';
import type { CollectionPlan } from './destination-plan.js';
import { isIdKey, supportingIndex } from './index-plan.js';
import { indexesMax, indexSignature, isIdIndex, portableIndex, TTL_OFF_SECONDS } from './index-spec.js';
import { type CatalogEntry, namespaceOf } from './namespace.js';

/**
 * Name of the index that supports a shard key while its own one is replaced, and its last field: one that no document
 * has gives the index a form of its own.
 */
const SUBSTITUTE = 'convoy_substitute';

/** The first release whose `collMod` adds a TTL to an index of one field (5.1). */
const makesTtlRelease = 6;

/**
 * Brings the indexes of a collection to the plan, in their temporary form. Conflicting indexes are dropped first, then
 * missing ones built, then extra ones dropped; a shard key has an index at all times. Where a collection cannot have
 * all of them at once, the extra ones are dropped first too.
 * @param version of the destination
 * @param plan under the name that the collection has on the destination
 * @param found the collection as the destination has it
 * @throws as `buildMissing`; the server's error if an index cannot be dropped
 */
export async function reconcileIndexes(
  building: IndexBuilding,
  version: Version,
  plan: CollectionPlan,
  found: CatalogEntry,
): Promise<void> {
  const wanted = wantedOf(plan);
  const byName = new Map(wanted.map((index) => [index.name as string, index]));
  const portable = (index: Document): Document => portableIndex(namespaceOf(found), index).index;
  const standing = found.indexes.filter((index) => !isIdIndex(index)).map(portable);
  const present = await withTtl(building, version, plan, standing, byName);
  // Where only some shards have a wanted one, it is built on the others.
  const inconsistent = (found.inconsistentIndexes ?? [])
    .map(({ forms }) => forms.flatMap(({ index }) => (index === null ? [] : [portable(index)])))
    .filter((forms) => !forms.every((form) => isWanted(form, byName)));
  const surplus: Document[] = [
    ...present.filter((index) => !isWanted(index, byName)),
    ...inconsistent.flatMap((forms) => forms.slice(0, 1)),
  ];
  const missing = wanted.filter(
    (index) => !present.some((there) => there.name === index.name && isBuiltAs(there, index)),
  );
  // Beside `_id`.
  const isFull = present.length + inconsistent.length + missing.length >= indexesMax;
  const isInTheWay = (index: Document): boolean =>
    isFull || byName.has(index.name as string) || missing.some((one) => indexSignature(one) === indexSignature(index));
  const inTheWay = surplus.filter(isInTheWay);
  const kept = present.filter((index) => !inTheWay.includes(index));
  const substitutes = await dropInTheWay(building, plan, found, inTheWay, kept);
  if (substitutes.length > 0) {
    // One is enough, and there may be no room for another one yet.
    await buildMissing(building, plan, wanted.filter((index) => supportsKey(plan, [index])).slice(0, 1));
    // The others may need its room.
    await dropEach(building, found, substitutes);
  }
  await buildMissing(building, plan, wanted);
  await dropEach(
    building,
    found,
    surplus.filter((index) => !inTheWay.includes(index)),
  );
}

/**
 * Ends the builds of indexes that the plan does not have: for a former leader they were wanted. Servers refuse other
 * changes of the collection while they last.
 */
export async function abandonBuilds(building: IndexBuilding, plan: CollectionPlan, found: CatalogEntry): Promise<void> {
  const byName = new Map(wantedOf(plan).map((index) => [index.name as string, index]));
  const unwanted = (found.buildingIndexes ?? [])
    .map((index) => portableIndex(namespaceOf(found), index).index)
    .filter((index) => !isWanted(index, byName));
  await dropEach(building, found, unwanted);
}

function wantedOf({ indexes }: CollectionPlan): Document[] {
  return indexes.flatMap(({ temporary }): Document[] => (temporary === null ? [] : [temporary]));
}

/**
 * Makes TTL indexes of plain ones where that is all that differs, as users do by `collMod`: to build them again would
 * read the whole collection.
 * @returns the indexes as they are then
 */
async function withTtl(
  building: IndexBuilding,
  version: Version,
  plan: CollectionPlan,
  standing: readonly Document[],
  wanted: ReadonlyMap<string, Document>,
): Promise<Document[]> {
  if (version[0] < makesTtlRelease) return [...standing];
  const present: Document[] = [];
  for (const index of standing) {
    const name = index.name as string;
    const ttl = { ...index, expireAfterSeconds: TTL_OFF_SECONDS };
    const lacksTtl = index.expireAfterSeconds === undefined && isWanted(ttl, wanted) && sizeOf(index) === 1;
    const isMade = lacksTtl && (await isMadeTtl(building, plan, name));
    present.push(isMade ? ttl : index);
  }
  return present;
}

function sizeOf({ key }: Document): number {
  return (key as ReadonlyMap<string, unknown>).size;
}

/** @returns false where the feature compatibility version is an earlier one, or the collection cannot have a TTL */
async function isMadeTtl(building: IndexBuilding, plan: CollectionPlan, name: string): Promise<boolean> {
  try {
    await changeIndex(building, plan, { name, expireAfterSeconds: TTL_OFF_SECONDS });
    return true;
  } catch (failure) {
    if (codeOf(failure) !== serverErrorCode.invalidOptions) throw failure;
    return false;
  }
}

/**
 * Drops the indexes that conflict with missing ones. Where that leaves none for the shard key, a substitute supports
 * it. Where the collection has no room for that, another index makes room, and is built again.
 * @param kept the other indexes of the destination
 * @returns the substitutes, to be dropped once an index for the shard key is built
 */
async function dropInTheWay(
  building: IndexBuilding,
  plan: CollectionPlan,
  found: CatalogEntry,
  inTheWay: readonly Document[],
  kept: readonly Document[],
): Promise<Document[]> {
  const ofKey = inTheWay.filter((index) => supportsKey(plan, [index]));
  await dropEach(
    building,
    found,
    inTheWay.filter((index) => !ofKey.includes(index)),
  );
  const substitutes = ofKey.length > 0 && !supportsKey(plan, kept) ? [substituteOf(plan)] : [];
  const isPresent = ofKey.some(({ name }) => name === SUBSTITUTE);
  if (substitutes.length > 0) {
    // Beside `_id`.
    const isFull = kept.length + ofKey.length + substitutes.length >= indexesMax;
    if (isFull && !isPresent) await dropEach(building, found, kept.slice(0, 1));
    await sendCreateIndexes(building, plan, substitutes);
  }
  // A former leader may have left a substitute, which then stays.
  await dropEach(
    building,
    found,
    ofKey.filter(({ name }) => substitutes.every((one) => one.name !== name)),
  );
  return substitutes;
}

/** Whether one of these indexes beside that on `_id` supports the shard key, and none on `_id` does. */
function supportsKey({ sharding }: CollectionPlan, indexes: readonly Document[]): boolean {
  return sharding !== null && !isIdKey(sharding.key) && supportingIndex(indexes, sharding.key, false) !== undefined;
}

/**
 * Supports the shard key while its index is replaced by one of the same form: servers do not drop the last one that
 * does (SERVER-6491). If a leader ends meanwhile, the next one finds it as an extra index.
 */
function substituteOf({ sharding }: CollectionPlan): Document {
  return { key: new Map([...(sharding?.key ?? []), [SUBSTITUTE, 1]]), name: SUBSTITUTE };
}

function isWanted(index: Document, wanted: ReadonlyMap<string, Document>): boolean {
  const planned = wanted.get(index.name as string);
  return planned !== undefined && isBuiltAs(index, planned);
}

/**
 * Drops indexes; a missing index or collection is no error.
 * @throws the refusal of an index that the destination's shard key needs, once the others are gone: where that is not
 * the planned key, or the planned index has arrays. Until it can be dropped no commit is offered.
 */
async function dropEach(building: IndexBuilding, found: CatalogEntry, indexes: readonly Document[]): Promise<void> {
  const refusals: unknown[] = [];
  for (const { name } of indexes) {
    try {
      await dropIndex(building, found, name as string);
    } catch (error) {
      if (codeOf(error) === serverErrorCode.cannotDropShardKeyIndex) refusals.push(error);
      else if (codeOf(error) !== serverErrorCode.namespaceNotFound) throw error;
    }
  }
  if (refusals.length > 0) throw refusals[0];
}
