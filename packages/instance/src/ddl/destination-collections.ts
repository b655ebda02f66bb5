import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { BSON, type Document } from 'mongodb';
import type { SkipIndex } from '../catalog/build-indexes.js';
import { betweenBuilds, type BuildsUnderWay } from '../catalog/index-builds.js';
import { listCollections, type ListedNamespace } from '../catalog/list-namespaces.js';
import { type CatalogEntry, namespaceOf } from '../catalog/namespace.js';
import { classify, codeOf, serverErrorCode } from '../cluster/failure.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { bucketsOf, namesInTheWay, seriesOf, shownName, userName } from '../cluster/time-series.js';
import type { UuidPairs } from '../store/ddl-journal.js';

/** The first release that refuses a command whose collection is not the intended one. */
const checksUuidRelease = 6;

/** The destination, as only the present leader may change it. */
export interface LedDestination {
  destination: ClusterClient;
  pairs: UuidPairs;
  /** Rejects if another leader has taken over; called right before each change. */
  confirm(signal: AbortSignal): Promise<void>;
  /** Skips an index that the destination cannot build; absent: every index must be built. */
  skip?: SkipIndex | undefined;
  /** Shows the builds that are waited for. */
  builds?: BuildsUnderWay | undefined;
}

/** Drops the collection that corresponds to a source collection, by its recorded UUID; one that is gone is no error. */
export async function dropRecorded(
  deps: LedDestination,
  database: string,
  sourceUuid: string,
  signal: AbortSignal,
): Promise<void> {
  const uuid = deps.pairs.destinationOf(sourceUuid);
  if (uuid === null) return;
  const present = await findByUuid(deps, database, uuid, signal);
  if (present !== null) await drop(deps, present, signal);
}

/**
 * Frees a name: drops a collection or view that does not correspond to any source collection, for example one that a
 * former leader left behind.
 * @throws ConvoyError `internalError` if a followed collection has the name
 */
export async function clearName(
  deps: LedDestination,
  database: string,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  for (const one of namesInTheWay(name)) await clearOne(deps, database, one, signal);
}

async function clearOne(deps: LedDestination, database: string, name: string, signal: AbortSignal): Promise<void> {
  const [present] = await listCollections(deps.destination.router, database, signal, name);
  if (present === undefined) return;
  const stored = present.type === 'timeseries' ? await bucketsBeside(deps, present, signal) : present;
  if (stored?.type === 'collection' && deps.pairs.isRecorded(stored.uuid)) {
    throw new ConvoyError(
      'internalError',
      `${shownName(present)} on the destination still corresponds to another collection.`,
    );
  }
  await drop(deps, present, signal);
}

/** The buckets of a time series, which has no UUID itself: to drop it is to drop them. */
async function bucketsBeside(
  { destination }: LedDestination,
  { database, name }: ListedNamespace,
  signal: AbortSignal,
): Promise<ListedNamespace | undefined> {
  const [found] = await listCollections(destination.router, database, signal, bucketsOf(name));
  return found;
}

/** Renames the collection that corresponds to a source collection; does nothing if it has the name already. */
export async function renameRecorded(
  deps: LedDestination,
  from: { database: string; name: string },
  to: { database: string; name: string },
  sourceUuid: string,
  signal: AbortSignal,
): Promise<void> {
  const uuid = deps.pairs.destinationOf(sourceUuid);
  const present = uuid === null ? null : await findByUuid(deps, from.database, uuid, signal);
  // It is gone: the comparison of catalogs will find that, and Convoy recreates and copies it.
  if (present === null || (present.database === to.database && present.name === to.name)) return;
  await clearName(deps, to.database, to.name, signal);
  const command = {
    renameCollection: namespaceOf(present),
    to: namespaceOf(to),
    ...meaning(deps, present),
    writeConcern: { w: 'majority' },
  };
  try {
    const { router: client } = deps.destination;
    await betweenBuilds({ client, signal, builds: deps.builds }, present, async () => {
      await deps.confirm(signal);
      await client.command('admin', command, { signal });
    });
  } catch (error) {
    const after = await findByUuid(deps, to.database, present.uuid, signal);
    if (!isOutdated(error) || after?.name !== to.name) throw error;
  }
}

/** The collection with a UUID, whatever its name. */
export async function findByUuid(
  deps: LedDestination,
  database: string,
  uuid: string,
  signal: AbortSignal,
): Promise<ListedNamespace | null> {
  const listed = await listCollections(deps.destination.router, database, signal);
  return listed.find((row) => row.uuid === uuid) ?? null;
}

/** Drops a collection or view as it was listed; one that was dropped or recreated since stays unchanged. */
export async function drop(
  deps: Pick<LedDestination, 'destination' | 'confirm'>,
  listed: Pick<ListedNamespace, 'database' | 'name' | 'uuid'>,
  signal: AbortSignal,
): Promise<void> {
  await deps.confirm(signal);
  const command = { drop: userName(listed.name), ...meaning(deps, listed), writeConcern: { w: 'majority' } };
  try {
    await deps.destination.router.command(listed.database, command, { signal });
  } catch (error) {
    if (!isOutdated(error)) throw error;
  }
}

/** Identifies the intended collection by UUID, if the server checks it: a time series has none, only its buckets do. */
export function meaning(
  { destination }: Pick<LedDestination, 'destination'>,
  { uuid, name }: Pick<ListedNamespace, 'uuid' | 'name'>,
): Document {
  if (uuid === '' || seriesOf(name) !== null || destination.version[0] < checksUuidRelease) return {};
  return { collectionUUID: new BSON.UUID(uuid) };
}

/** The collection has the wanted state already, or has been replaced. */
function isOutdated(error: unknown): boolean {
  const kind = classify(error);
  return kind === 'notFound' || kind === 'catalogChanged' || codeOf(error) === serverErrorCode.namespaceExists;
}

/**
 * Records the current UUIDs of capped collections that were recreated to empty them: documents cannot be deleted from
 * them, so a restarted copy does that.
 * @param followed collections under their names on the destination
 * @param found what the destination has now, at least in their databases
 */
export async function adoptCapped(
  pairs: UuidPairs,
  followed: Iterable<Pick<CatalogEntry, 'uuid' | 'database' | 'name' | 'options'>>,
  found: readonly { uuid: string; database: string; name: string }[],
  signal: AbortSignal,
): Promise<void> {
  const present = new Set(found.map(({ uuid }) => uuid));
  for (const { uuid, database, name, options } of followed) {
    if (options.capped !== true || present.has(pairs.destinationOf(uuid) ?? '')) continue;
    const there = found.find((one) => one.database === database && one.name === name);
    // Only a new UUID counts: a catalog that was read slowly may still show a collection that was replaced since.
    if (there === undefined || there.uuid === '' || pairs.isMapped(there.uuid)) continue;
    await pairs.record([{ sourceUuid: uuid, destinationUuid: there.uuid }], signal);
  }
}
