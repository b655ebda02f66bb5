import type { Timestamp } from 'mongodb';
import { Condition, SerialQueue } from '../async/waiting.js';
import { restoredEntry, storedEntry } from '../catalog/catalog-bytes.js';
import { type CatalogEntry, namespaceOf } from '../catalog/namespace.js';
import { highestTime } from '../cluster/cluster-time.js';
import type { DdlEntry, DdlJournal, NewDdlEntry } from '../store/ddl-journal.js';

/**
 * The leader's view of the DDL journal, and its only writer. Changes come from the DDL watcher, from sync tasks and
 * from comparisons. The ledger judges them one after the other by what is followed at that point, and they are applied
 * in order.
 */
export class DdlLedger {
  readonly changed = new Condition();
  readonly followed: FollowedCollections;
  readonly #collections: Map<string, CatalogEntry>;
  readonly #undone: DdlEntry[] = [];
  /** The time up to which entries include a collection's changes. */
  readonly #journalledTo = new Map<string, bigint>();
  #known: number;
  #done = 0;
  /** Each change is judged and written before the next one. */
  readonly #writing = new SerialQueue();

  /**
   * @param atStart the collections at the start of the migration
   * @param entries all entries of the journal
   */
  constructor(
    private readonly journal: Pick<DdlJournal, 'append' | 'finish'>,
    private readonly leaderEpoch: number,
    atStart: readonly CatalogEntry[],
    entries: readonly DdlEntry[],
  ) {
    const collections = atStart.filter(({ type }) => type === 'collection');
    this.followed = new FollowedCollections(collections);
    this.#collections = new Map(collections.map((collection) => [collection.uuid, collection]));
    this.#known = entries.length;
    for (const entry of entries) this.#takeIn(entry);
  }

  get known(): number {
    return this.#known;
  }

  get done(): number {
    return this.#done;
  }

  /** The latest time of an entry; 0 for none. */
  get latest(): bigint {
    return highestTime(this.#journalledTo.values());
  }

  /** The first entry that is not applied. */
  get next(): DdlEntry | undefined {
    return this.#undone[0];
  }

  /** The followed collections as the source had them when they were last read, by UUID; only applied changes count. */
  get collections(): ReadonlyMap<string, CatalogEntry> {
    return this.#collections;
  }

  /** Whether an entry about the collection waits to be applied. */
  isChanging(uuid: string): boolean {
    return this.#undone.some((entry) => entry.uuid === uuid || entry.droppedUuid === uuid);
  }

  /** Whether the collection is still to be created: its form is not known yet. */
  isToBeMade(uuid: string): boolean {
    return this.#undone.some(
      (entry) => entry.uuid === uuid && (entry.operation === 'create' || entry.operation === 'restart'),
    );
  }

  /** Whether the collection is unsharded on the destination and will not be recreated. */
  isUnsharded(uuid: string): boolean {
    return this.#collections.get(uuid)?.sharding === null && !this.isToBeMade(uuid);
  }

  /** The time up to which the journal includes a collection's changes; null if it has no entry about it. */
  journalledTo(uuid: string): bigint | null {
    return this.#journalledTo.get(uuid) ?? null;
  }

  /**
   * Adds a change to the journal.
   * @param judge returns the change, given what is followed at that point; null for nothing
   */
  async add(judge: (followed: FollowedCollections) => NewDdlEntry | null, signal: AbortSignal): Promise<void> {
    await this.#writing.run(async () => {
      const found = judge(this.followed);
      if (found === null) return;
      const entry = await this.journal.append(this.leaderEpoch, this.#known + 1, found, signal);
      this.#known = entry.ordinal;
      this.#takeIn(entry);
      this.changed.changed();
    });
  }

  /** Records the result of the first entry that is not applied. */
  async finish(result: CatalogEntry | null, signal: AbortSignal): Promise<void> {
    await this.#writing.run(async () => {
      const entry = this.#undone[0];
      if (entry === undefined) return;
      await this.journal.finish(this.leaderEpoch, entry.ordinal, result === null ? null : storedEntry(result), signal);
      this.#undone.shift();
      this.#settle(entry, result);
      this.changed.changed();
    });
  }

  #takeIn(entry: DdlEntry): void {
    this.#journalledTo.set(entry.uuid, entry.time.toBigInt());
    if (entry.droppedUuid !== null) this.#journalledTo.set(entry.droppedUuid, entry.time.toBigInt());
    this.followed.apply(entry);
    if (entry.state === 'undone') this.#undone.push(entry);
    else this.#settle(entry, entry.entry === null ? null : restoredEntry(entry.entry));
  }

  #settle({ ordinal, uuid, operation, droppedUuid }: DdlEntry, result: CatalogEntry | null): void {
    this.#done = ordinal;
    if (droppedUuid !== null) this.#collections.delete(droppedUuid);
    if (result !== null) {
      this.#collections.set(uuid, result);
      return;
    }
    this.#collections.delete(uuid);
    const isLast = !this.#undone.some((later) => later.uuid === uuid);
    if (operation !== 'drop' && isLast) this.followed.remove(uuid);
  }
}

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
  apply({ operation, uuid, database, name, to, droppedUuid }: NewDdlEntry): void {
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
): NewDdlEntry | null {
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
): NewDdlEntry | null {
  if (followed.get(collection.uuid) !== undefined) return null;
  return { ...collection, operation: 'drop', to: null, droppedUuid: null, time };
}

/** A followed collection that must be recreated and copied; null if it is not followed. */
export function restartOf(followed: FollowedCollections, uuid: string, time: Timestamp): NewDdlEntry | null {
  const collection = followed.get(uuid);
  return collection === undefined ? null : { ...collection, operation: 'restart', to: null, droppedUuid: null, time };
}
