import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { BSON, type Document } from 'mongodb';
import { listCollections, type ListedNamespace } from '../catalog/read/list-namespaces.js';
import { namespaceOf } from '../catalog/namespace.js';
import { serverCode } from '../catalog/server-code.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { classify, codeOf } from '../cluster/failure.js';
import type { UuidPairs } from '../store/uuid-pairs.js';

/** The first release that refuses a change of another collection than the one that is meant. */
const checksUuidRelease = 6;

/** What changes of the destination's collections need. */
export interface DestinationDependencies {
  destination: Pick<ClusterClient, 'router' | 'version'>;
  pairs: UuidPairs;
  /** Rejects when another leader has taken over; asked right before anything is changed. */
  confirm(signal: AbortSignal): Promise<void>;
}

/** Drops the collection that stands for one of the source, by its recorded UUID; one that is gone stays so. */
export async function dropRecorded(
  deps: DestinationDependencies,
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
 * Makes room for a collection: drops what stands under the name without standing for a collection of the source, as the
 * leavings of a former leader or a view.
 * @throws ConvoyError `internalError` when a collection that is followed stands there
 */
export async function clearName(
  deps: DestinationDependencies,
  database: string,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const [present] = await listCollections(deps.destination.router, database, signal, name);
  if (present === undefined) return;
  if (present.type === 'collection' && deps.pairs.isRecorded(present.uuid)) {
    throw new ConvoyError(
      'internalError',
      `${namespaceOf(present)} on the destination still stands for another collection.`,
    );
  }
  await drop(deps, present, signal);
}

/** Gives the collection that stands for one of the source its new name; one that has it keeps it. */
export async function renameRecorded(
  deps: DestinationDependencies,
  from: { database: string; name: string },
  to: { database: string; name: string },
  sourceUuid: string,
  signal: AbortSignal,
): Promise<void> {
  const uuid = deps.pairs.destinationOf(sourceUuid);
  const present = uuid === null ? null : await findByUuid(deps, from.database, uuid, signal);
  // Gone: the comparison of catalogs finds it out and has it made and copied anew.
  if (present === null || (present.database === to.database && present.name === to.name)) return;
  await clearName(deps, to.database, to.name, signal);
  await deps.confirm(signal);
  const command = {
    renameCollection: namespaceOf(present),
    to: namespaceOf(to),
    ...meaning(deps, present),
    writeConcern: { w: 'majority' },
  };
  try {
    await deps.destination.router.command('admin', command, { signal });
  } catch (error) {
    const after = await findByUuid(deps, to.database, present.uuid, signal);
    if (!isOutdated(error) || after?.name !== to.name) throw error;
  }
}

/** The collection of a UUID, whatever it is called. */
export async function findByUuid(
  deps: DestinationDependencies,
  database: string,
  uuid: string,
  signal: AbortSignal,
): Promise<ListedNamespace | null> {
  const listed = await listCollections(deps.destination.router, database, signal);
  return listed.find((row) => row.uuid === uuid) ?? null;
}

/** Drops a collection or view as it was listed; what has gone or was made anew since is left alone. */
export async function drop(
  deps: Pick<DestinationDependencies, 'destination' | 'confirm'>,
  listed: Pick<ListedNamespace, 'database' | 'name' | 'uuid'>,
  signal: AbortSignal,
): Promise<void> {
  await deps.confirm(signal);
  const command = { drop: listed.name, ...meaning(deps, listed), writeConcern: { w: 'majority' } };
  try {
    await deps.destination.router.command(listed.database, command, { signal });
  } catch (error) {
    if (!isOutdated(error)) throw error;
  }
}

/** Names the collection that a command means, where the server looks at it. */
export function meaning(
  { destination }: Pick<DestinationDependencies, 'destination'>,
  { uuid }: { uuid: string },
): Document {
  if (uuid === '' || destination.version[0] < checksUuidRelease) return {};
  return { collectionUUID: new BSON.UUID(uuid) };
}

/** The state is there already, or is another one by now. */
function isOutdated(error: unknown): boolean {
  const kind = classify(error);
  return kind === 'notFound' || kind === 'catalogChanged' || codeOf(error) === serverCode.namespaceExists;
}
