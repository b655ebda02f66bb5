import type { Document } from 'mongodb';
import { buildIndexes, isBuiltAs } from '../catalog/make/build-indexes.js';
import { dropIndex } from '../catalog/make/drop-index.js';
import type { IndexBuilding, MayPass } from '../catalog/make/index-building.js';
import type { CollectionPlan } from '../catalog/plan/destination-plan.js';
import { indexesMax, indexSignature, isIdIndex, portableIndex } from '../catalog/index-spec.js';
import type { CatalogEntry } from '../catalog/namespace.js';
import { namespaceOf } from '../catalog/namespace.js';
import { serverCode } from '../catalog/server-code.js';
import { codeOf } from '../cluster/failure.js';
import { type LedDestination, meaning } from './destination-collections.js';

/** The destination, and the builds that it refuses for the moment. */
interface ReconcileDependencies extends Pick<LedDestination, 'destination' | 'confirm' | 'skip'> {
  mayPass?: MayPass | undefined;
}

/**
 * Brings the indexes of a collection to the plan, in their temporary form. Conflicting indexes are dropped first, then
 * missing ones built, then extra ones dropped, so that a shard key always has its index. Where a collection cannot have
 * all of them at once, the extra ones are dropped first too.
 * @param plan under the name that the collection has on the destination
 * @param found the collection as the destination has it
 * @throws as `buildIndexes`; the server's error if an index cannot be dropped
 */
export async function reconcileIndexes(
  deps: ReconcileDependencies,
  plan: CollectionPlan,
  found: CatalogEntry,
  signal: AbortSignal,
): Promise<void> {
  const wanted = plan.indexes.flatMap(({ temporary }): Document[] => (temporary === null ? [] : [temporary]));
  const byName = new Map(wanted.map((index) => [index.name as string, index]));
  const present = found.indexes
    .filter((index) => !isIdIndex(index))
    .map((index): Document => portableIndex(namespaceOf(found), index).index);
  const surplus = present.filter((index) => !isWanted(index, byName));
  const missing = wanted.filter(
    (index) => !present.some((there) => there.name === index.name && isBuiltAs(there, index)),
  );
  // Beside `_id`.
  const isFull = present.length + missing.length >= indexesMax;
  const isInTheWay = (index: Document): boolean =>
    isFull || byName.has(index.name as string) || missing.some((one) => indexSignature(one) === indexSignature(index));
  const building = {
    client: deps.destination.router,
    signal,
    confirm: () => deps.confirm(signal),
    meaning: meaning(deps, found),
    skip: deps.skip,
    mayPass: deps.mayPass,
  };
  for (const index of surplus.filter(isInTheWay)) await dropSurplus(building, found, index.name as string);
  await buildIndexes(building, plan, wanted);
  for (const index of surplus.filter((one) => !isInTheWay(one)))
    await dropSurplus(building, found, index.name as string);
}

function isWanted(index: Document, wanted: ReadonlyMap<string, Document>): boolean {
  const planned = wanted.get(index.name as string);
  return planned !== undefined && isBuiltAs(index, planned);
}

/** Drops an index; a missing index or collection is no error. */
async function dropSurplus(building: IndexBuilding, found: CatalogEntry, name: string): Promise<void> {
  try {
    await dropIndex(building, found, name);
  } catch (error) {
    if (codeOf(error) !== serverCode.namespaceNotFound) throw error;
  }
}
