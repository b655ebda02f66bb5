import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import type { Cluster, Door } from '../cluster/door.js';
import { codeOf } from '../cluster/failure.js';
import { changeIndex, presentIndexes, sendCreateIndexes } from './build-indexes.js';
import { sameDocument } from './canonical-text.js';
import type { CollectionPlan, DestinationPlan } from './destination-plan.js';
import { TEMPORARY_INDEX_PREFIX, uniqueConversion } from './index-plan.js';
import type { IndexPlan } from './index-plan.js';
import { mapBounded } from './map-bounded.js';
import { namespaceOf } from './namespace.js';
import { serverCode } from './server-code.js';

/** Collections worked on at the same time: unique indexes are built anew over all data before 6.0. */
const COLLECTIONS_PARALLEL = 4;

export interface RestoreAttributesInput {
  destination: Cluster;
  /** The plan for the source's catalog as it is at commit time. */
  plan: DestinationPlan;
  signal: AbortSignal;
  /** Called after every collection that is in its final form. */
  onProgress?: (progress: { collectionsFinished: number; collectionsTotal: number }) => void;
}

/**
 * Brings every index of the destination into its final form: unique, then hidden, prepared and TTL as on the source.
 * First all unique ones of all collections, so that no TTL deletes anything while a violation may still end the commit.
 * Every step looks at what is there: the whole may be repeated after a crash at any point, and repeated when done does
 * nothing.
 * @throws ConvoyError `uniqueIndexViolated` with namespace and index (never values) when documents stand against it;
 * `destinationChanged` when an index is neither in its temporary nor in its final form; otherwise what the door throws
 */
export async function restoreAttributes(input: RestoreAttributesInput): Promise<void> {
  const { destination, plan, signal } = input;
  const collections = plan.collections.filter((collection) => needsRestoring(collection));
  const conversion = uniqueConversion(destination.version);
  await mapBounded(collections, COLLECTIONS_PARALLEL, (collection) => restoreUnique(destination.router, collection, conversion, signal));
  let collectionsFinished = 0;
  await mapBounded(collections, COLLECTIONS_PARALLEL, async (collection) => {
    await restoreInPlace(destination.router, collection, signal);
    collectionsFinished += 1;
    input.onProgress?.({ collectionsFinished, collectionsTotal: collections.length });
  });
}

function needsRestoring(plan: CollectionPlan): boolean {
  const isDeferred = ({ final, temporary }: IndexPlan): boolean => temporary === null || !sameDocument(final, temporary);
  return plan.options.expireAfterSeconds !== undefined || plan.indexes.some(isDeferred);
}

async function restoreUnique(
  door: Door,
  plan: CollectionPlan,
  conversion: ReturnType<typeof uniqueConversion>,
  signal: AbortSignal,
): Promise<void> {
  for (const index of plan.indexes) {
    if (index.final.unique !== true || index.temporary?.unique === true) continue;
    const present = await presentIndexes(door, plan.entry.database, plan.entry.name, signal);
    const isUnique = present.get(index.final.name as string)?.unique === true;
    if (!isUnique) await makeUnique(door, plan, index, present, conversion, signal);
    const temporaryName = index.temporary?.name as string | undefined;
    const standsBeside = temporaryName?.startsWith(TEMPORARY_INDEX_PREFIX) === true;
    if (standsBeside && (isUnique || conversion !== 'instead')) await dropIndex(door, plan, temporaryName, present, signal);
  }
}

async function makeUnique(
  door: Door,
  plan: CollectionPlan,
  index: IndexPlan,
  present: ReadonlyMap<string, Document>,
  conversion: ReturnType<typeof uniqueConversion>,
  signal: AbortSignal,
): Promise<void> {
  const name = index.final.name as string;
  if (conversion === 'instead' && index.temporary !== null) await dropIndex(door, plan, index.temporary.name as string, present, signal);
  try {
    if (present.has(name)) {
      await changeIndex(door, plan.entry, { name, prepareUnique: true }, signal);
      await changeIndex(door, plan.entry, { name, unique: true }, signal);
    } else {
      await sendCreateIndexes(door, plan, [index.final], signal);
    }
  } catch (failure) {
    const code = codeOf(failure);
    if (code !== serverCode.duplicateKey && code !== serverCode.cannotConvertIndexToUnique) throw failure;
    throw new ConvoyError('uniqueIndexViolated', `Documents of ${namespaceOf(plan.entry)} on the destination violate the unique index ${name}.`, { cause: failure });
  }
}

async function dropIndex(
  door: Door,
  plan: CollectionPlan,
  name: string,
  present: ReadonlyMap<string, Document>,
  signal: AbortSignal,
): Promise<void> {
  if (!present.has(name)) return;
  try {
    const command = { dropIndexes: plan.entry.name, index: name, writeConcern: { w: 'majority' } };
    await door.command(plan.entry.database, command, { signal });
  } catch (failure) {
    if (codeOf(failure) !== serverCode.indexNotFound) throw failure;
  }
}

/** Attributes that every version changes in place. TTL comes last: from then on the server deletes by it. */
async function restoreInPlace(door: Door, plan: CollectionPlan, signal: AbortSignal): Promise<void> {
  const { database, name: collection } = plan.entry;
  const present = await presentIndexes(door, database, collection, signal);
  for (const { final } of plan.indexes) {
    const name = final.name as string;
    const found = present.get(name);
    if (found === undefined) {
      throw new ConvoyError('destinationChanged', `Index ${name} of ${namespaceOf(plan.entry)} is missing on the destination.`);
    }
    for (const change of inPlaceChanges(final, found)) await changeIndex(door, plan.entry, { name, ...change }, signal);
  }
  if (plan.options.expireAfterSeconds !== undefined) {
    const command = { collMod: collection, expireAfterSeconds: plan.options.expireAfterSeconds as unknown, writeConcern: { w: 'majority' } };
    await door.command(database, command, { signal });
  }
}

function inPlaceChanges(final: Document, found: Document): Document[] {
  const changes: Document[] = [];
  if (final.prepareUnique === true && found.prepareUnique !== true) changes.push({ prepareUnique: true });
  if (final.hidden === true && found.hidden !== true) changes.push({ hidden: true });
  if (final.expireAfterSeconds !== found.expireAfterSeconds) changes.push({ expireAfterSeconds: final.expireAfterSeconds as unknown });
  return changes;
}
