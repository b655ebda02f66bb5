import type { Warning } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { mapBounded, runTogether } from '../async/together.js';
import { codeOf, failureName, serverErrorCode } from '../cluster/failure.js';
import type { ClusterClient, Namespace } from '../cluster/node-client.js';
import { seriesOf, shownName, userName } from '../cluster/time-series.js';
import { buildMissing, dropIndex, type IndexBuilding, isBuiltAs, type SkipIndex } from './build-indexes.js';
import { createOptions, droppedWarning, optionDifferences } from './collection-options.js';
import type { CollectionPlan, DestinationPlan } from './destination-plan.js';
import { BuildCounts, type BuildsUnderWay, type IndexBuildProgress } from './index-builds.js';
import { supportingIndex } from './index-plan.js';
import { isIdIndex } from './index-spec.js';
import { hasAnyDocument, listCollections, type ListedNamespace } from './list-namespaces.js';
import { type KeyPattern, namespaceOf, sameKey } from './namespace.js';
import { addZones, canBeZones, findZonesOfChunks, moveRanges, placeChunks, removeOwnZones } from './place-chunks.js';
import { presentIndexes } from './read-indexes.js';
import { readConfig } from './read-sharding.js';
import { namingRefused } from './views.js';

/** Collections created concurrently: DDL takes locks on the config servers, so a larger number does not help. */
const COLLECTIONS_PARALLEL = 4;

/**
 * Creates everything planned on the destination: databases on their primary shards, collections with options, chunks on
 * their shards, indexes in their temporary form, views. Callers may repeat it at any point: it checks and keeps what
 * exists. Both balancers must be off. At the end it removes the zones used for placing chunks, including those of an
 * interrupted attempt.
 * @param onProgress called at the beginning and after every finished collection
 * @returns one row for every collection and view, in the plan's order, with both UUIDs for the caller to record
 * @throws as `createCollection`
 */
export async function createCollections(
  making: Making,
  plan: DestinationPlan,
  onProgress?: (progress: IndexBuildProgress) => void,
): Promise<CreatedCollection[]> {
  const { destination, signal } = making;
  const isSharded = destination.kind === 'sharded';
  const removeZones = async () => removeOwnZones(destination, await findZonesOfChunks(destination, signal), signal);
  if (isSharded) {
    await runTogether(signal, [
      () => createDatabases(making, plan),
      async () => {
        await removeZones();
        if (plan.collections.some((collection) => collection.sharding !== null)) await addZones(destination, signal);
      },
    ]);
  }
  const progress = new BuildCounts(plan.collections, onProgress);
  const created = await mapBounded(plan.collections, COLLECTIONS_PARALLEL, async (collection) => {
    const row = await createCollection(making, collection);
    progress.finish(collection);
    return row;
  });
  if (isSharded) {
    // Routers may still have the new collections cached as unsharded.
    const flush = async () => {
      await destination.router.command('admin', { flushRouterConfig: 1 }, { signal });
    };
    await runTogether(signal, [removeZones, flush]);
  }
  return created;
}

/** An existing database keeps its primary shard; only databases with sharded collections need to be enabled. */
async function createDatabases(making: Making, plan: DestinationPlan): Promise<void> {
  const { destination, signal } = making;
  const rows = await readConfig(destination.router, { find: 'databases', filter: {} }, signal);
  const present = new Map(rows.map((row) => [row._id as string, row]));
  for (const [database, primaryShard] of plan.databases) {
    const row = present.get(database);
    if (row !== undefined && row.partitioned !== false) continue;
    const primary = row === undefined && primaryShard !== null ? { primaryShard } : {};
    await makeDatabase(making, database, () =>
      destination.router.command('admin', { enableSharding: database, ...primary }, { signal }),
    );
  }
}

/** A collection on the destination and the source collection it corresponds to. */
export interface CreatedCollection {
  database: string;
  name: string;
  /** 32 hexadecimal digits; both empty for views. */
  sourceUuid: string;
  destinationUuid: string;
}

/** The cluster on which collections are created, and the caller's limits. */
export interface Making {
  destination: ClusterClient;
  signal: AbortSignal;
  /** Called before every change: throws if another process has taken over, so that this one changes nothing more. */
  confirm: () => Promise<void>;
  /** Called when the destination refuses the storage options of a collection, which it then gets without them. */
  onWarning?: ((warning: Warning) => void) | undefined;
  /** Skips an index that the destination cannot build; absent: every index must be built. */
  skip?: SkipIndex | undefined;
  /** Shows the builds that are waited for. */
  builds?: BuildsUnderWay | undefined;
}

/**
 * Creates one collection or view as planned: `create`, the index its shard key needs, chunks on their shards, all other
 * indexes. Every step first checks what exists, so a repeated call continues after a crash. Nothing is dropped but an
 * emptied database in the way (`makeDatabase`).
 * The zones must exist (`addZones`) if the collection is sharded.
 * @throws ConvoyError `destinationNotEmpty` if something else has the name, or documents prevent sharding;
 * `indexNotSupported` and `catalogDiffers` from the indexes; `viewNotSupported` or `collectionNotSupported` for
 * what the destination refuses; otherwise what the client throws
 */
export async function createCollection(making: Making, plan: CollectionPlan): Promise<CreatedCollection> {
  const { destination, signal, confirm, skip, builds } = making;
  const { database, name, uuid } = plan.entry;
  const created = await ensureCreated(making, plan);
  if (plan.entry.type === 'collection') {
    const temporary = plan.indexes.flatMap((index) => (index.temporary === null ? [] : [index.temporary]));
    const building = { client: destination.router, signal, confirm, skip, builds };
    if (seriesOf(name) !== null) await dropOwnIndex(building, plan, temporary);
    if (plan.sharding !== null) await ensureSharded(making, plan, temporary);
    await buildMissing(building, plan, temporary);
  }
  return { database, name, sourceUuid: uuid, destinationUuid: created.uuid };
}

/**
 * From 6.3 on, servers make an index of metadata and time with each time series. It goes where the source has none, or
 * another one of its name or key: the two could not stand beside each other.
 */
async function dropOwnIndex(building: IndexBuilding, plan: CollectionPlan, wanted: readonly Document[]): Promise<void> {
  const { onAllShards } = await presentIndexes(building, plan);
  for (const index of onAllShards)
    if (!isIdIndex(index) && !wanted.some((one) => isBuiltAs(index, one)))
      await dropIndex(building, plan.entry, String(index.name));
}

async function ensureCreated(making: Making, plan: CollectionPlan): Promise<ListedNamespace> {
  const { destination, signal, confirm } = making;
  const present = await findNamespace(destination, plan, signal);
  if (present !== null) return present;
  await confirm();
  try {
    await sendCreate(making, plan, plan.storage);
  } catch (failure) {
    const isRefusal = STORAGE_REFUSALS.has(codeOf(failure)) && Object.keys(plan.storage).length > 0;
    if (!isRefusal) throw namingRefused(plan.entry, failure);
    await sendCreate(making, plan, {});
    making.onWarning?.(
      droppedWarning(plan.entry, Object.keys(plan.storage), `the destination refuses them (${failureName(failure)})`),
    );
  }
  const created = await findNamespace(destination, plan, signal);
  if (created === null) throw await absentAfterCreate(destination, plan.entry, signal);
  return created;
}

/** Why a collection is not there after its creation: it is gone again, or a time series has no free name. */
async function absentAfterCreate(
  destination: ClusterClient,
  { database, name }: Namespace,
  signal: AbortSignal,
): Promise<ConvoyError> {
  const [present] = await listCollections(destination.router, database, signal, userName(name));
  const shown = shownName({ database, name });
  if (present === undefined || present.type === 'timeseries')
    return new ConvoyError(
      'destinationChanged',
      `${shown} was dropped on the destination while Convoy was creating it.`,
    );
  return new ConvoyError(
    'destinationNotEmpty',
    `The destination has ${shown}, which is no time series as on the source; drop it there.`,
  );
}

/** Codes for an engine that a server does not have, and for settings that its engine does not know (seen on 5.0.7). */
const STORAGE_REFUSALS: ReadonlySet<number | null> = new Set([
  serverErrorCode.badValue,
  serverErrorCode.invalidOptions,
]);

async function sendCreate(making: Making, plan: CollectionPlan, storage: Document): Promise<void> {
  const { destination, signal } = making;
  const { entry, options } = plan;
  const command: Document = { create: userName(entry.name), ...createOptions(options), ...storage };
  const send = (): Promise<Document> =>
    destination.router.command(entry.database, { ...command, writeConcern: { w: 'majority' } }, { signal });
  try {
    await makeDatabase(making, entry.database, send);
  } catch (failure) {
    if (codeOf(failure) !== serverErrorCode.namespaceExists) throw failure;
  }
}

/**
 * The namespace of a plan on the destination if it exists in the planned form; null if it does not exist. A server may
 * end between the buckets of a time series and its view: `create` then makes the view.
 */
async function findNamespace(
  destination: ClusterClient,
  plan: CollectionPlan,
  signal: AbortSignal,
): Promise<ListedNamespace | null> {
  const { entry } = plan;
  const [listed] = await listCollections(destination.router, entry.database, signal, entry.name);
  if (listed === undefined) return null;
  const differing =
    listed.type === entry.type
      ? optionDifferences(entry, { ...entry, options: listed.options }, 'temporary')
      : ['type'];
  if (differing.length === 0) return (await lacksView(destination, plan, signal)) ? null : listed;
  throw new ConvoyError(
    'destinationNotEmpty',
    `The destination has ${shownName(entry)} with different ${differing.join(', ')}; drop it there.`,
  );
}

async function lacksView(destination: ClusterClient, { entry }: CollectionPlan, signal: AbortSignal): Promise<boolean> {
  const series = seriesOf(entry.name);
  return series !== null && (await listCollections(destination.router, entry.database, signal, series)).length === 0;
}

async function ensureSharded(
  { destination, signal, confirm }: Making,
  plan: CollectionPlan,
  temporary: readonly Document[],
): Promise<void> {
  const { sharding, entry } = plan;
  if (sharding === null) return;
  const namespace = namespaceOf(entry);
  const { router } = destination;
  const [[row], hasDocuments] = await Promise.all([
    readConfig(router, { find: 'collections', filter: { _id: namespace } }, signal),
    hasAnyDocument(router, entry, signal),
  ]);
  if (row !== undefined && row.dropped !== true && row.unsplittable !== true) {
    if (sameKey(row.key as KeyPattern, sharding.key)) {
      // An interrupted attempt may have left chunks of an empty collection where they were made.
      if (!canBeZones(sharding) && !hasDocuments) await moveRanges(destination, namespace, sharding.ranges, signal);
      return;
    }
    throw new ConvoyError(
      'destinationNotEmpty',
      `The destination has ${shownName(entry)} with a different shard key; drop it there.`,
    );
  }
  if (hasDocuments) {
    throw new ConvoyError(
      'destinationNotEmpty',
      `The destination already has documents in ${shownName(entry)}, so its chunks cannot be placed; drop it there.`,
    );
  }
  const supporting = supportingIndex(temporary, sharding.key, sharding.unique);
  if (supporting !== undefined) await buildMissing({ client: destination.router, signal, confirm }, plan, [supporting]);
  await confirm();
  await placeChunks(destination, plan, signal).catch((failure: unknown) => {
    throw namingRefused(entry, failure);
  });
}

type MakingDatabase = Pick<Making, 'destination' | 'signal' | 'confirm'>;

/** Where routers and members name the database that they have, in the message of 13297 (seen on 5.0.7). */
const presentName = /have: \[?([^\s\]]+)/;

/**
 * Sends a command that may make a database. An emptied database in the way is dropped, and the command sent once more.
 * @throws ConvoyError `destinationNotEmpty` for a database with collections whose name differs only in case; otherwise
 * what the command throws
 */
export async function makeDatabase(making: MakingDatabase, name: string, send: () => Promise<unknown>): Promise<void> {
  try {
    await send();
  } catch (failure) {
    if (codeOf(failure) !== serverErrorCode.databaseDifferCase) throw failure;
    await dropEmptied(making, name, failure);
    await send();
  }
}

/**
 * Servers refuse two databases whose names differ only in case. One whose collections were all dropped stays on
 * routers, and on members until they restart.
 */
async function dropEmptied({ destination, signal, confirm }: MakingDatabase, wanted: string, refusal: unknown) {
  const present = refusal instanceof Error ? presentName.exec(refusal.message)?.[1] : undefined;
  if (present === undefined || present === wanted || present.toLowerCase() !== wanted.toLowerCase()) throw refusal;
  if ((await listCollections(destination.router, present, signal)).length > 0)
    throw new ConvoyError(
      'destinationNotEmpty',
      `The destination has the database ${present}, whose name differs only in case from ${wanted}. Drop it there.`,
    );
  await confirm();
  await destination.router.command(present, { dropDatabase: 1, writeConcern: { w: 'majority' } }, { signal });
}
