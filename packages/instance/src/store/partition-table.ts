import { type Binary, type Document, Timestamp } from 'mongodb';
import { compareRaw } from '../bson/compare.js';
import { maxKey, minKey, ownedValue, type RawValue } from '../bson/scan.js';
import { restoredValue, storedValue } from '../bson/stored-value.js';
import type { ChangeEvent } from './change-event.js';
import type { SyncedCollection } from './synced-collection.js';

/**
 * A partition waits, dropping events; starts once its reading time is set, from when later events are held; is copied
 * once everything up to that time has been routed; and is done when all its documents are durable.
 */
export type PartitionState = 'waiting' | 'starting' | 'copying' | 'done';

/** A range of `_id`, from `lower` (inclusive) to `upper` (exclusive, or MaxKey inclusive). */
export interface IdRange {
  lower: RawValue;
  upper: RawValue;
}

/** All `_id`s. */
export const wholeRange: Readonly<IdRange> = { lower: minKey, upper: maxKey };

/** A range of `_id` of one collection, and how far its copy is. */
export interface Partition extends IdRange {
  state: PartitionState;
  /** True from before the first write of an attempt until the partition is done. */
  dirty: boolean;
  /** The one time the partition is (or was) read at; null before the first attempt. */
  readTime: bigint | null;
  /** The shard's operation time when the read ended: effects of prepared transactions up to it may have been seen. */
  readEnd: bigint | null;
  /**
   * The latest event of the range that was dropped because a reading to come will include it: no reading may be
   * earlier.
   */
  dropped: bigint;
  bytes: number;
  documents: number;
  /** True from when all its documents are acknowledged; stored as done from then on, while events are still held. */
  closing: boolean;
  /**
   * True from when a done partition is made to wait again, stored as waiting and dirty from then on, until the doubtful
   * keys of its range are gone: before that it is not copied.
   */
  reopening: boolean;
  /** Events later than `readTime`, in order, while starting and copying. */
  buffered: ChangeEvent[];
}

/** Writes the durable form of a table. */
export type SavePartitions = (collection: SyncedCollection, partitions: Document[]) => Promise<void>;

/**
 * The partitions of one collection on one share, in `_id` order without gaps, and their durable form.
 * All partitions of a collection are one document, so that closing one and opening its rest is one atomic write.
 */
export class PartitionTable {
  #saving: Promise<void> = Promise.resolve();

  constructor(
    readonly collection: SyncedCollection,
    readonly partitions: Partition[],
    private readonly save: SavePartitions,
  ) {}

  /**
   * A table of waiting partitions that begin at the given `_id`s of the share's range, the first at its lower bound.
   */
  static fresh(
    collection: SyncedCollection,
    starts: readonly RawValue[],
    save: SavePartitions,
    range: IdRange = wholeRange,
  ): PartitionTable {
    const bounds = [range.lower, ...starts.map(ownedValue), range.upper];
    const partitions = bounds
      .slice(0, -1)
      .map((lower, index) => waitingPartition(lower, bounds[index + 1] ?? range.upper));
    return new PartitionTable(collection, partitions, save);
  }

  /** A table of one partition that needs no copy: everything up to a time is on the destination. */
  static copied(
    collection: SyncedCollection,
    readTime: bigint,
    save: SavePartitions,
    range: IdRange = wholeRange,
  ): PartitionTable {
    return new PartitionTable(
      collection,
      [{ ...waitingPartition(range.lower, range.upper), state: 'done', readTime }],
      save,
    );
  }

  /** The table as it was saved. Partitions that were being copied wait again, dirty. */
  static restored(collection: SyncedCollection, stored: readonly Document[], save: SavePartitions): PartitionTable {
    return new PartitionTable(collection, stored.map(restoredPartition), save);
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
    const rest = waitingPartition(ownedValue(boundary), partition.upper);
    rest.readTime = partition.readTime;
    rest.dirty = restDirty;
    partition.upper = rest.lower;
    this.partitions.splice(this.partitions.indexOf(partition) + 1, 0, rest);
    return rest;
  }

  /** Makes the present state durable (majority) before it resolves; saves follow each other. */
  persist(): Promise<void> {
    const snapshot = this.partitions.map(storedPartition);
    const saved = this.#saving.then(() => this.save(this.collection, snapshot));
    this.#saving = saved.catch(() => undefined);
    return saved;
  }

  /** Resolves once every `persist` so far has ended, whether or not it has succeeded. */
  async saved(): Promise<void> {
    await this.#saving;
  }
}

function waitingPartition(lower: RawValue, upper: RawValue): Partition {
  return {
    lower,
    upper,
    state: 'waiting',
    dirty: false,
    readTime: null,
    readEnd: null,
    dropped: 0n,
    bytes: 0,
    documents: 0,
    closing: false,
    reopening: false,
    buffered: [],
  };
}

function storedPartition(partition: Partition): Document {
  return {
    lower: storedValue(partition.lower),
    upper: storedValue(partition.upper),
    state: storedState(partition),
    dirty: (partition.dirty || partition.reopening) && !partition.closing,
    readTime: storedTime(partition.readTime),
    readEnd: storedTime(partition.readEnd),
    bytes: partition.bytes,
    documents: partition.documents,
  };
}

function storedState({ closing, reopening, state }: Partition): PartitionState {
  if (closing) return 'done';
  return reopening ? 'waiting' : state;
}

function restoredPartition(stored: Document): Partition {
  const wasDone = stored.state === 'done';
  return {
    lower: restoredValue(stored.lower as Binary),
    upper: restoredValue(stored.upper as Binary),
    state: wasDone ? 'done' : 'waiting',
    dirty: Boolean(stored.dirty),
    readTime: restoredTime(stored.readTime as Timestamp | null),
    readEnd: restoredTime(stored.readEnd as Timestamp | null),
    dropped: 0n,
    bytes: wasDone ? Number(stored.bytes) : 0,
    documents: wasDone ? Number(stored.documents) : 0,
    closing: false,
    reopening: false,
    buffered: [],
  };
}

function storedTime(time: bigint | null): Timestamp | null {
  return time === null ? null : new Timestamp(time);
}

function restoredTime(stored: Timestamp | null): bigint | null {
  return stored === null ? null : stored.toBigInt();
}
