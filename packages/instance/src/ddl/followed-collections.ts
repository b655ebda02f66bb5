import type { Timestamp } from 'mongodb';
import { namespaceOf } from '../catalog/namespace.js';
import type { FoundDdlChange } from '../store/ddl-journal.js';

/** A collection that the migration follows, under the latest name in the journal. */
export interface FollowedCollection {
  uuid: string;
  database: string;
  name: string;
}

/** The followed collections once all journal entries are applied; events are judged against them. */
export class FollowedCollections {
  readonly #byUuid = new Map<string, FollowedCollection>();
  readonly #byName = new Map<string, FollowedCollection>();

  constructor(collections: Iterable<FollowedCollection>) {
    for (const collection of collections) this.#add(collection);
  }

  get(uuid: string): FollowedCollection | undefined {
    return this.#byUuid.get(uuid);
  }

  /** The collection under a name. */
  at(database: string, name: string): FollowedCollection | undefined {
    return this.#byName.get(namespaceOf({ database, name }));
  }

  /** Applies a change. */
  apply({ operation, uuid, database, name, to, droppedUuid }: FoundDdlChange): void {
    if (droppedUuid !== null) this.remove(droppedUuid);
    this.remove(uuid);
    if (operation !== 'drop') this.#add({ uuid, ...(to ?? { database, name }) });
  }

  remove(uuid: string): void {
    const collection = this.#byUuid.get(uuid);
    if (collection === undefined) return;
    this.#byUuid.delete(uuid);
    this.#byName.delete(namespaceOf(collection));
  }

  #add({ uuid, database, name }: FollowedCollection): void {
    const collection = { uuid, database, name };
    this.#byUuid.set(uuid, collection);
    this.#byName.set(namespaceOf(collection), collection);
  }
}

/** An unknown collection, which replaces what is followed under its name; null if it is followed already. */
export function creationOf(
  followed: FollowedCollections,
  { uuid, database, name }: FollowedCollection,
  time: Timestamp,
): FoundDdlChange | null {
  if (followed.get(uuid) !== undefined) return null;
  return {
    operation: 'create',
    uuid,
    database,
    name,
    to: null,
    droppedUuid: followed.at(database, name)?.uuid ?? null,
    time,
  };
}

/**
 * A collection that was created and dropped before it was followed: sync tasks may wait for an entry about it. Null if
 * it is followed.
 */
export function absenceOf(
  followed: FollowedCollections,
  collection: FollowedCollection,
  time: Timestamp,
): FoundDdlChange | null {
  if (followed.get(collection.uuid) !== undefined) return null;
  return { ...collection, operation: 'drop', to: null, droppedUuid: null, time };
}

/** A followed collection that must be recreated and copied; null if it is not followed. */
export function restartOf(followed: FollowedCollections, uuid: string, time: Timestamp): FoundDdlChange | null {
  const collection = followed.get(uuid);
  return collection === undefined ? null : { ...collection, operation: 'restart', to: null, droppedUuid: null, time };
}
