import { type CopyOrder, describeOrder } from '@convoy/api/contract/copy-order';
import type { Document } from 'mongodb';
import type { Retrying } from '../../async/retry.js';
import type { RawValue } from '../../bson/scan.js';
import { createCollection } from '../../catalog/create-collections.js';
import type { CollectionPlan } from '../../catalog/destination-plan.js';
import { listCollections } from '../../catalog/list-namespaces.js';
import type { NodeClient } from '../../cluster/node-client.js';
import { shownName } from '../../cluster/time-series.js';
import type { CopyRestarts } from '../../copy/copier.js';
import { chooseOrder, detectBytesMin, startingPoints } from '../../copy/plan-copy.js';
import { drop, type LedDestination } from '../../ddl/destination-collections.js';
import { PartitionTable } from '../../store/partition-table.js';
import type { SyncedCollection } from '../../store/synced-collection.js';
import type { TaskStorage } from '../../store/task-storage.js';
import type { FollowedEntry, TaskTables } from './followed-collections.js';
import type { SyncPipelineDependencies } from './sync-pipeline.js';
import type { OwnedRecord } from './task-checkpoint.js';
import type { TaskCollection } from './task-collections.js';

/**
 * A partition is only closed early at a document that was read, and no time stays readable for longer than five
 * minutes. So where few documents match, each partition has to be short from the start.
 */
const filteredBytes = 256 * 2 ** 20;
/** All partitions of a collection are one document of the metadata. */
const filteredStartsMax = 4_096;

/** Plans the copies of a task's collections, and begins them again. */
export class CopyPlans implements CopyRestarts {
  readonly #shard: NodeClient;

  constructor(
    private readonly deps: SyncPipelineDependencies,
    private readonly storage: TaskStorage,
    private readonly followed: TaskTables,
    private readonly record: OwnedRecord,
  ) {
    this.#shard = deps.source.taskClient(deps.shardId);
  }

  /** The task's part of a new collection on the source; null when it has none. */
  taskOf(followed: FollowedEntry): TaskCollection | null {
    return this.deps.taskOf(followed);
  }

  /**
   * The partitions of a collection with which the task begins. A reverse begins with the content of the start time; the
   * copy of an initial collection has its UUID as name, that of a recreated one has another.
   * @param stored as an earlier owner has stored them
   */
  async first(task: TaskCollection, stored: readonly Document[] | undefined, signal: AbortSignal) {
    const save = this.storage.saverOf(task.copy);
    if (stored !== undefined) return PartitionTable.restored(task.collection, stored, save);
    if (!this.deps.beginsCopied || task.copy !== task.entry.uuid) return this.fresh(task, signal);
    return PartitionTable.copied(task.collection, this.deps.startTime, save, task.range);
  }

  /**
   * The partitions of a collection whose copy begins: one for each reader that starts on it at once, or one for a copy
   * in natural order.
   */
  async fresh(task: TaskCollection, signal: AbortSignal): Promise<PartitionTable> {
    const { collection, range, sizeBytes, orderWish } = task;
    const sizes = { part: sizeBytes, detectMin: detectBytesMin };
    const choose = () => chooseOrder(this.#shard, collection, orderWish, sizes, signal);
    const order = await this.deps.runtime.retrying('sample _ids', choose, signal);
    if (order !== null) this.#logOrder(collection, order);
    const starts = order?.order === 'natural' ? [] : await this.#startsOf(task, signal);
    return PartitionTable.fresh(collection, starts, this.storage.saverOf(task.copy), range, order);
  }

  /** Also logs the change of order. */
  async startsInIdOrder({ collection, order }: PartitionTable, signal: AbortSignal): Promise<RawValue[]> {
    const task = this.followed.taskOf(collection.uuid);
    if (task === null) return [];
    if (order !== null) this.#logLeftOrder(collection, order);
    return this.#startsOf(task, signal);
  }

  async recreate(uuid: string, signal: AbortSignal): Promise<void> {
    const task = this.followed.taskOf(uuid);
    if (task !== null) await this.deps.recreate(task.entry, () => this.record.confirm(), signal);
  }

  #startsOf(task: TaskCollection, signal: AbortSignal): Promise<RawValue[]> {
    const { collection, range, sizeBytes, seenPerOwned } = task;
    const { runtime } = this.deps;
    const { readers } = runtime.config;
    const startsMax = collection.documentFilter === undefined ? readers : filteredStarts(sizeBytes, readers);
    const sample = () => startingPoints(this.#shard, collection, { sizeBytes, seenPerOwned, range, startsMax }, signal);
    return runtime.retrying('sample _ids', sample, signal);
  }

  #logOrder(collection: SyncedCollection, order: CopyOrder): void {
    const { reason, description } = describeOrder(order);
    const fields = { namespace: shownName(collection), order: order.order, reason };
    this.deps.runtime.logger.info({ event: 'copyOrderChosen', ...fields }, description);
  }

  #logLeftOrder(collection: SyncedCollection, order: CopyOrder): void {
    const namespace = shownName(collection);
    const { reason, description } = describeOrder(order);
    const text = `the copy of a collection begins again. ${description}`;
    this.deps.runtime.logger.warn({ event: 'copyOrderLeft', namespace, reason }, text);
  }
}

function filteredStarts(sizeBytes: number, readers: number): number {
  return Math.max(readers, Math.min(filteredStartsMax, Math.ceil(sizeBytes / filteredBytes)));
}

/**
 * Replaces a partly copied capped collection with an empty one, since its documents cannot be deleted. Sessions do not
 * fence drops: the epoch and the UUID show what another process may have created and copied since.
 * @param deps `confirm` rejects when another process owns the task
 * @throws ConvoyError `staleEpoch` when another process owns the task; as `createCollection`
 */
export async function recreateCapped(
  deps: Pick<LedDestination, 'destination' | 'confirm'>,
  plan: CollectionPlan,
  retrying: Retrying,
  signal: AbortSignal,
): Promise<void> {
  const { destination } = deps;
  const { database, name } = plan.entry;
  const empty = async () => {
    const [listed] = await listCollections(destination.router, database, signal, name);
    if (listed !== undefined) await drop(deps, listed, signal);
  };
  await retrying('empty a capped collection', empty, signal);
  const making = { destination, signal, confirm: () => deps.confirm(signal) };
  await retrying('create a capped collection', () => createCollection(making, plan), signal);
}
