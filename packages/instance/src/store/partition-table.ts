import type { CopyOrder, CopyOrderReason } from '@convoy/api/contract/copy-order';
import type { Document } from 'mongodb';
import { SerialQueue } from '../async/waiting.js';
import { compareRaw } from '../bson/order.js';
import { ownedValue, type RawValue } from '../bson/scan.js';
import { type IdRange, Partition, wholeRange } from './partition.js';
import { RecordScan } from './record-scan.js';
import type { SyncedCollection } from './synced-collection.js';

/** Writes the durable form of a table. */
export type SavePartitions = (collection: SyncedCollection, partitions: Document[]) => Promise<void>;

/**
 * The partitions of one collection in one sync task, in `_id` order without gaps, and their durable form.
 * All partitions of a collection are one document: one atomic write closes a partition and adds its rest.
 */
export class PartitionTable {
  readonly #saving = new SerialQueue();

  constructor(
    readonly collection: SyncedCollection,
    readonly partitions: Partition[],
    private readonly save: SavePartitions,
    private chosenOrder: CopyOrder | null = null,
  ) {}

  /** Waiting partitions of a task's range: the first starts at its lower bound, the others at `starts`. */
  static fresh(
    collection: SyncedCollection,
    starts: readonly RawValue[],
    save: SavePartitions,
    range: IdRange = wholeRange,
    order: CopyOrder | null = null,
  ): PartitionTable {
    if (order?.order === 'natural')
      return new PartitionTable(collection, [Partition.waiting(range, new RecordScan())], save, order);
    const bounds = [range.lower, ...starts.map(ownedValue), range.upper];
    const partitions = bounds
      .slice(0, -1)
      .map((lower, index) => Partition.waiting({ lower, upper: bounds[index + 1] ?? range.upper }));
    return new PartitionTable(collection, partitions, save, order);
  }

  /** One partition that needs no copy: everything up to `readTime` is on the destination. */
  static copied(collection: SyncedCollection, readTime: bigint, save: SavePartitions, range: IdRange): PartitionTable {
    return new PartitionTable(collection, [Partition.copied(range, readTime)], save);
  }

  /** The table as it was saved. Partitions that were being copied wait again, dirty. */
  static restored(collection: SyncedCollection, stored: readonly Document[], save: SavePartitions): PartitionTable {
    return new PartitionTable(
      collection,
      stored.map((each) => Partition.restored(each)),
      save,
      (stored[0]?.order as CopyOrder | undefined) ?? null,
    );
  }

  /** In which order the collection is copied, and why; null where no option of the start asks for another one. */
  get order(): CopyOrder | null {
    return this.chosenOrder;
  }

  get done(): boolean {
    return this.partitions.every((partition) => partition.state === 'done');
  }

  /** The partition whose range holds this `_id`. */
  find(id: RawValue): Partition {
    const only = this.partitions[0];
    if (only !== undefined && this.partitions.length === 1) return only;
    let low = 0;
    let high = this.partitions.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const partition = this.partitions[middle];
      if (partition !== undefined && compareRaw(partition.lower, id) <= 0) low = middle;
      else high = middle - 1;
    }
    const found = this.partitions[low];
    if (found === undefined) throw new Error(`no partition of ${this.collection.name} holds the _id`);
    return found;
  }

  /** Closes a partition before `boundary` (its new upper bound); the rest becomes a waiting partition of its own. */
  splitAt(partition: Partition, boundary: RawValue, restDirty: boolean): Partition {
    const rest = partition.splitAt(boundary, restDirty);
    this.partitions.splice(this.partitions.indexOf(partition) + 1, 0, rest);
    return rest;
  }

  /**
   * Ends the copy in record order of the one partition; it waits, dirty, for a copy in `_id` order. Stored first: a
   * process that found the scan would continue it, without the documents that events have removed since.
   */
  async leaveRecordOrder(reason: CopyOrderReason): Promise<void> {
    for (const partition of this.partitions) partition.startLeaving();
    this.chosenOrder = { order: '_id', reason };
    await this.persist();
    for (const partition of this.partitions) partition.leaveRecordOrder();
  }

  /** Divides the one waiting partition at distinct `_id`s in order. */
  divideAt(starts: readonly RawValue[]): void {
    const [whole] = this.partitions;
    if (whole !== undefined) for (const start of starts.toReversed()) this.splitAt(whole, start, whole.dirty);
  }

  /** Makes the present state durable (majority) before it resolves; saves follow each other. */
  persist(): Promise<void> {
    const snapshot = this.partitions.map((partition) => partition.stored());
    // One atomic write has to change both.
    if (this.chosenOrder !== null) Object.assign(snapshot[0] ?? {}, { order: this.chosenOrder });
    return this.#saving.run(() => this.save(this.collection, snapshot));
  }

  /** Resolves once every `persist` so far has ended, whether or not it has succeeded. */
  async saved(): Promise<void> {
    await this.#saving.run(() => Promise.resolve());
  }
}
