import type { Document } from 'mongodb';
import { buildIndexes, changeCollection, changeIndex, sendCreateIndexes } from './build-indexes.js';
import type { Making } from './create-collection.js';
import { dropIndex } from './drop-index.js';
import type { IndexBuilding } from './index-building.js';
import { type PresentIndexes, presentIndexes } from './present-indexes.js';
import type { CollectionPlan, DestinationPlan } from '../plan/destination-plan.js';
import { type IndexPlan, isIdKey, supportingIndex, TEMPORARY_INDEX_PREFIX } from '../plan/index-plan.js';
import { TTL_OFF_SECONDS } from '../index-spec.js';
import { mapBounded } from '../../async/together.js';

/** Collections processed concurrently: each unique index is rebuilt over all data. */
const COLLECTIONS_PARALLEL = 4;

/** Supports the shard key while Convoy rebuilds the unique index that usually does. */
const HELPER_NAME = `${TEMPORARY_INDEX_PREFIX}shard_key`;

/**
 * The opposite of `restoreAttributes`: converts every index of a destination back to the form in which changes are
 * applied. It checks each index first and changes it only if necessary, so callers may repeat it after a crash.
 * @param plan for the catalog that both clusters have, in which the destination has every index in its final form
 * @throws what the client throws; as `buildIndexes`
 */
export async function deferAttributes(making: Making, plan: DestinationPlan): Promise<void> {
  const { destination, signal, confirm, builds } = making;
  const deferring = { client: destination.router, signal, confirm, builds };
  const collections = plan.collections.filter(({ entry }) => entry.type === 'collection');
  await mapBounded(collections, COLLECTIONS_PARALLEL, (collection) => deferCollection(deferring, collection));
}

async function deferCollection(deferring: IndexBuilding, plan: CollectionPlan): Promise<void> {
  if (plan.options.expireAfterSeconds !== undefined)
    await changeCollection(deferring, plan, { expireAfterSeconds: 'off' });
  for (const index of plan.indexes) await deferIndex(deferring, plan, index);
  const present = await presentIndexes(deferring, plan);
  if (present.some(HELPER_NAME)) await dropIndex(deferring, plan.entry, HELPER_NAME);
}

async function deferIndex(
  deferring: IndexBuilding,
  plan: CollectionPlan,
  { final, temporary }: IndexPlan,
): Promise<void> {
  const name = final.name as string;
  const present = await presentIndexes(deferring, plan);
  const isUnique = ({ unique }: Document): boolean => unique === true;
  if (present.some(name, isUnique) && temporary?.unique !== true) {
    await support(deferring, plan, name, present);
    await dropIndex(deferring, plan.entry, name);
  }
  if (temporary === null) return;
  if (present.every(name, (found) => isUnique(found) === isUnique(temporary))) {
    for (const change of changesOf(temporary, present)) await changeIndex(deferring, plan, { name, ...change });
    return;
  }
  await buildIndexes(deferring, plan, [temporary]);
}

/** A shard key is never without its index. */
async function support(
  deferring: IndexBuilding,
  plan: CollectionPlan,
  leaving: string,
  present: PresentIndexes,
): Promise<void> {
  const key = plan.sharding?.key;
  const others = present.onAllShards.filter((index) => index.name !== leaving);
  if (key === undefined || isIdKey(key) || supportingIndex(others, key, false) !== undefined) return;
  await sendCreateIndexes(deferring, plan, [{ key, name: HELPER_NAME }]);
}

/** What at least one shard needs. */
function changesOf({ name, expireAfterSeconds }: Document, present: PresentIndexes): Document[] {
  const some = (test: (found: Document) => boolean): boolean => present.some(name as string, test);
  const changes: Document[] = [];
  if (some((found) => found.prepareUnique === true)) changes.push({ prepareUnique: false });
  if (some((found) => found.hidden === true)) changes.push({ hidden: false });
  if (expireAfterSeconds === TTL_OFF_SECONDS && some((found) => found.expireAfterSeconds !== TTL_OFF_SECONDS))
    changes.push({ expireAfterSeconds: TTL_OFF_SECONDS });
  return changes;
}
