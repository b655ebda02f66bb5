import { type CopyOrder, describeOrder } from '@convoy/api/contract/copy-order';
import type { NamespacePart } from '@convoy/api/fleet/published-details';
import { namespaceOf } from '../../catalog/namespace.js';
import { isSame, type NamespaceRemap } from '../../catalog/namespace-remap.js';
import type { Partition } from '../../store/partition.js';
import type { PartitionTable } from '../../store/partition-table.js';
import { renameCollection, type SyncedCollection } from '../../store/synced-collection.js';
import type { DdlResult } from './followed-catalog.js';
import type { TaskCollection } from './task-collections.js';
import { copyStats } from '../stats/task-stats.js';

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
    return [...this.tables.values()].flatMap(({ done, collection }) => (done ? [] : [namespaceOf(collection)]));
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
    namespace: namespaceOf(collection),
    ...(isSame(collection, collection.destination) ? {} : { destination: namespaceOf(collection.destination) }),
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
