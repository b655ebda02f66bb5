import { type CopyOrder, describeOrder } from '@convoy/api/contract/copy-order';
import type { NamespacePart } from '@convoy/api/fleet/published-details';
import type { Binary } from 'mongodb';
import { restoredEntry } from '../../catalog/catalog-bytes.js';
import { isSame, type NamespaceRemap } from '../../catalog/namespace-remap.js';
import type { Catalog, CatalogEntry } from '../../catalog/namespace.js';
import { timeOf } from '../../cluster/cluster-time.js';
import { shownName } from '../../cluster/time-series.js';
import type { DdlEntry } from '../../store/ddl-journal.js';
import type { PartitionTable } from '../../store/partition-table.js';
import type { Partition } from '../../store/partition.js';
import { renameCollection, type SyncedCollection } from '../../store/synced-collection.js';
import type { TaskCollection } from './task-collections.js';
import { copyStats } from './task-stats.js';

/** A collection or view of the source, as the migration follows it. */
export interface FollowedEntry {
  entry: CatalogEntry;
  /**
   * Name of its copy. A collection recreated under its UUID is copied again under another name, and stored state of
   * earlier copies does not count.
   */
  copy: string;
  /** Time of the last DDL change that gave it its present name or copy; 0 for none. */
  notBefore: bigint;
}

/** The followed collections after some entries of the journal. */
export interface FollowedCatalog {
  entries: FollowedEntry[];
  /** UUIDs of all collections that are or were in the catalog. */
  known: Set<string>;
}

/** The result of a DDL change. */
export interface DdlResult {
  /** Collections that are no longer followed, or have changed. */
  ended: string[];
  /** A new or recreated collection. */
  started: FollowedEntry | null;
  /** The new namespace of a collection. */
  renamed: { uuid: string; database: string; name: string; notBefore: bigint } | null;
}

/** The result of a done entry of the journal for the followed collections. */
export function resultOf(ddlChange: DdlEntry): DdlResult {
  const { operation, uuid, droppedUuid, ordinal } = ddlChange;
  const notBefore = timeOf(ddlChange.time);
  const entry = operation === 'drop' ? null : restoredOrNull(ddlChange.entry);
  const replaced = droppedUuid === null ? [] : [droppedUuid];
  if (entry === null) return { ended: [...replaced, uuid], started: null, renamed: null };
  if (operation === 'rename') {
    const { database, name } = entry;
    return { ended: replaced, started: null, renamed: { uuid, database, name, notBefore } };
  }
  return { ended: [...replaced, uuid], started: { entry, copy: `${uuid}.${ordinal}`, notBefore }, renamed: null };
}

/**
 * The catalog that a migration follows: the catalog of its start, with the results of DDL changes.
 * @param done applied entries of the journal, in order
 */
export function followedCatalog(started: Catalog, done: readonly DdlEntry[]): FollowedCatalog {
  const known = new Set(started.flatMap(({ uuid }) => (uuid === '' ? [] : uuid)));
  let entries: FollowedEntry[] = started.map((entry) => ({ entry, copy: entry.uuid, notBefore: 0n }));
  for (const ddlChange of done) {
    const { ended, started: next, renamed } = resultOf(ddlChange);
    known.add(ddlChange.uuid);
    entries = entries
      .filter(({ entry }) => !ended.includes(entry.uuid))
      .map((one) => (one.entry.uuid === renamed?.uuid ? renamedEntry(one, renamed) : one));
    if (next !== null) entries.push(next);
  }
  return { entries, known };
}

/** Everything else about a renamed collection, its task bounds included, stays. */
function renamedEntry(
  followed: FollowedEntry,
  { database, name, notBefore }: NonNullable<DdlResult['renamed']>,
): FollowedEntry {
  return { ...followed, entry: { ...followed.entry, database, name }, notBefore };
}

function restoredOrNull(entry: Binary | null): CatalogEntry | null {
  return entry === null ? null : restoredEntry(entry);
}

/** The collections that a sync task follows now, with their partitions. */
export class TaskTables {
  readonly collections = new Map<string, SyncedCollection>();
  readonly tables = new Map<string, PartitionTable>();
  readonly #tasks = new Map<string, TaskCollection>();
  readonly #known: Set<string>;

  /** @param known UUIDs of all collections that are or were in the catalog */
  constructor(
    known: ReadonlySet<string>,
    private readonly remap: NamespaceRemap,
  ) {
    this.#known = new Set(known);
  }

  get copyDone(): boolean {
    for (const table of this.tables.values()) if (!table.done) return false;
    return true;
  }

  /** The collections that are not copied yet. */
  get copying(): string[] {
    return [...this.tables.values()].flatMap(({ done, collection }) => (done ? [] : [shownName(collection)]));
  }

  /**
   * Whether everything is copied that can be, given what is known up to a time. Some collections get their name, or are
   * created, later. Some reads that are not at one time end later.
   */
  copyDoneUpTo(time: bigint): boolean {
    for (const { collection, partitions } of this.tables.values()) {
      if (
        collection.notBefore <= time &&
        !partitions.every((partition) => partition.state === 'done' || endsAbove(collection, partition, time))
      )
        return false;
    }
    return true;
  }

  /** Partitions whose read is not at one time and ended above the given time: they are done only after that. */
  readingsAbove(time: bigint): number {
    let readings = 0;
    for (const { collection, partitions } of this.tables.values())
      readings += partitions.filter((partition) => endsAbove(collection, partition, time)).length;
    return readings;
  }

  /** Whether events of this UUID need no report: the task has no part in it, or it is gone. */
  isKnown(uuid: string): boolean {
    return this.#known.has(uuid);
  }

  know(uuid: string): void {
    this.#known.add(uuid);
  }

  taskOf(uuid: string): TaskCollection | null {
    return this.#tasks.get(uuid) ?? null;
  }

  /** The collection whose copy has this name; null where the task has no part in it. */
  collectionOf(copy: string): SyncedCollection | null {
    for (const task of this.#tasks.values()) if (task.copy === copy) return task.collection;
    return null;
  }

  add(task: TaskCollection, table: PartitionTable): void {
    const { uuid } = task.collection;
    this.#tasks.set(uuid, task);
    this.collections.set(uuid, task.collection);
    this.tables.set(uuid, table);
  }

  /** Copy progress of each collection, by its present name. */
  namespaceParts(): NamespacePart[] {
    return [...this.#tasks.values()].map(({ collection, sizeBytes }) => {
      const table = this.tables.get(collection.uuid);
      return namespacePart(collection, sizeBytes, table?.partitions ?? [], table?.order ?? null);
    });
  }

  rename({ uuid, ...to }: NonNullable<DdlResult['renamed']>): void {
    const task = this.#tasks.get(uuid);
    if (task === undefined) return;
    renameCollection(task.collection, { ...to, destination: this.remap.toDestination(to) });
    task.entry = { ...task.entry, database: to.database, name: to.name };
  }

  remove(uuid: string): void {
    this.#tasks.delete(uuid);
    this.collections.delete(uuid);
    this.tables.delete(uuid);
  }
}

function namespacePart(
  collection: SyncedCollection,
  sizeBytes: number,
  partitions: readonly Partition[],
  order: CopyOrder | null,
): NamespacePart {
  const { copiedBytes, copiedDocuments, partitions: counts } = copyStats([{ partitions }]);
  return {
    namespace: shownName(collection),
    ...(isSame(collection, collection.destination) ? {} : { destination: shownName(collection.destination) }),
    totalBytes: Math.round(sizeBytes),
    copiedBytes,
    copiedDocuments,
    partitions: counts,
    ...(order === null ? {} : { copyOrders: [describeOrder(order)] }),
  };
}

/** Only capped collections are not read at one time. */
function endsAbove({ capped }: SyncedCollection, { state, readEnd }: Partition, time: bigint): boolean {
  return capped && state !== 'done' && readEnd !== null && readEnd > time;
}
