import type { Document } from 'mongodb';
import type { ClusterClient } from '../../cluster/node-client.js';
import { buildIndexes, changeIndex, type IndexBuilding, presentIndexes, sendCreateIndexes } from './build-indexes.js';
import { dropIndex } from './drop-index.js';
import type { CollectionPlan, DestinationPlan } from '../plan/destination-plan.js';
import { type IndexPlan, isIdKey, supportingIndex, TEMPORARY_INDEX_PREFIX } from '../plan/index-plan.js';
import { TTL_OFF_SECONDS } from '../index-spec.js';
import { mapBounded } from '../map-bounded.js';

/** Collections worked on at the same time: what was unique is built anew over all data. */
const COLLECTIONS_PARALLEL = 4;

/** Supports a shard key while the unique index that does so otherwise is built anew. */
const HELPER_NAME = `${TEMPORARY_INDEX_PREFIX}shard_key`;

export interface DeferAttributesInput {
  destination: ClusterClient;
  /** The plan for the catalog that both clusters have, in which the destination has every index in its final form. */
  plan: DestinationPlan;
  signal: AbortSignal;
  /** Asked before every change, so that a leader that was replaced changes nothing more. Throws what ends the work. */
  confirm: () => Promise<void>;
}

/**
 * The opposite of restoring: brings every index of a destination that had them all restored into the form in which changes
 * are applied. What is looked at first is changed only where it has to be: the whole may be repeated after a crash at any point.
 * @throws what the door throws; as `buildIndexes`
 */
export async function deferAttributes({ destination, plan, signal, confirm }: DeferAttributesInput): Promise<void> {
  const deferring = { client: destination.router, signal, confirm };
  const collections = plan.collections.filter(({ entry }) => entry.type === 'collection');
  await mapBounded(collections, COLLECTIONS_PARALLEL, (collection) => deferCollection(deferring, collection));
}

async function deferCollection(deferring: IndexBuilding, plan: CollectionPlan): Promise<void> {
  const { client, signal, confirm } = deferring;
  const { database, name } = plan.entry;
  if (plan.options.expireAfterSeconds !== undefined) {
    await confirm();
    await client.command(
      database,
      { collMod: name, expireAfterSeconds: 'off', writeConcern: { w: 'majority' } },
      { signal },
    );
  }
  for (const index of plan.indexes) await deferIndex(deferring, plan, index);
  const present = await presentIndexes(client, database, name, signal);
  if (present.has(HELPER_NAME)) await dropIndex(deferring, plan.entry, HELPER_NAME);
}

async function deferIndex(
  deferring: IndexBuilding,
  plan: CollectionPlan,
  { final, temporary }: IndexPlan,
): Promise<void> {
  const { client, signal, confirm } = deferring;
  const name = final.name as string;
  const present = await presentIndexes(client, plan.entry.database, plan.entry.name, signal);
  const found = present.get(name);
  if (found?.unique === true && temporary?.unique !== true) {
    await support(deferring, plan, name, present);
    await dropIndex(deferring, plan.entry, name);
  }
  if (temporary === null) return;
  const standsAsPlanned = found !== undefined && (found.unique === true) === (temporary.unique === true);
  if (standsAsPlanned) {
    for (const change of changesOf(found, temporary)) {
      await confirm();
      await changeIndex(client, plan.entry, { name, ...change }, signal);
    }
    return;
  }
  await buildIndexes(deferring, plan, [temporary]);
}

/** A shard key is never without its index. */
async function support(
  deferring: IndexBuilding,
  plan: CollectionPlan,
  leaving: string,
  present: ReadonlyMap<string, Document>,
): Promise<void> {
  const key = plan.sharding?.key;
  const others = [...present.values()].filter((index) => index.name !== leaving);
  if (key === undefined || isIdKey(key) || supportingIndex(others, key, false) !== undefined) return;
  await deferring.confirm();
  await sendCreateIndexes(deferring.client, plan, [{ key, name: HELPER_NAME }], deferring.signal);
}

function changesOf(found: Document, temporary: Document): Document[] {
  const changes: Document[] = [];
  if (found.prepareUnique === true) changes.push({ prepareUnique: false });
  if (found.hidden === true) changes.push({ hidden: false });
  if (temporary.expireAfterSeconds === TTL_OFF_SECONDS && found.expireAfterSeconds !== TTL_OFF_SECONDS)
    changes.push({ expireAfterSeconds: TTL_OFF_SECONDS });
  return changes;
}
