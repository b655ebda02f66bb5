import type { Timestamp } from 'mongodb';
import { elementType } from '../bson/element-type.js';
import { compareRaw } from '../bson/order.js';
import { isLossless } from '../bson/sent-value.js';
import { ownedValue, type RawValue } from '../bson/scan.js';
import { timestampOf } from '../cluster/cluster-time.js';
import type { RawCursor } from '../cluster/node-client.js';
import { openSnapshotCursor, readTarget } from '../cluster/snapshot-read.js';
import type { Partition } from '../store/partition.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import type { CopyDependencies } from './copy-dependencies.js';
import { PacedCursor } from './paced-cursor.js';
import { idOf } from './partition-writer.js';

/** Reads one partition at one time in `_id` order. Reopens a lost cursor at the same time, after the last document. */
export class PartitionReader {
  readonly #cursor: PacedCursor;
  #last: RawValue | null = null;
  #ended = false;
  /** The cursor also returns documents outside the partition, or documents that were read before. */
  #widened = false;
  readonly #at: Timestamp;

  constructor(
    private readonly collection: SyncedCollection,
    private readonly partition: Partition,
    private readonly deps: CopyDependencies,
    readTime: bigint,
  ) {
    this.#at = timestampOf(readTime);
    this.#cursor = new PacedCursor(collection, deps, readTime, (signal) => this.#open(signal));
  }

  /** The shard's operation time at the latest reply. */
  get readEnd(): bigint {
    return this.#cursor.readEnd;
  }

  /** The next documents that the task owns; null at the end of the partition. */
  async next(signal: AbortSignal): Promise<Uint8Array[] | null> {
    while (!this.#ended) {
      const batch = await this.#cursor.fetch(signal);
      if (!this.#cursor.open) this.#ended = true;
      await this.#cursor.count(batch, signal);
      const fresh = this.#widened ? this.#inside(batch.documents) : this.#afterLast(batch.documents);
      const last = fresh.at(-1);
      if (last !== undefined) this.#last = ownedValue(idOf(last));
      const owned = fresh.filter((document) => this.collection.owns(document, 'document'));
      if (owned.length > 0) return owned;
    }
    return null;
  }

  async close(): Promise<void> {
    await this.#cursor.close();
  }

  /** Leaves out a bound that cannot be sent; `#inside` then filters the documents. */
  #open(signal: AbortSignal): Promise<RawCursor> {
    const { lower, upper } = this.partition;
    const from = this.#last ?? lower;
    const min = [from, lower].find(isLossless);
    const max = isLossless(upper) ? upper : undefined;
    this.#widened = min !== from || max === undefined;
    return openSnapshotCursor(this.deps.shard, {
      database: this.collection.database,
      target: readTarget(this.collection),
      ...(min === undefined ? {} : { min }),
      ...(max === undefined ? {} : { max }),
      at: this.#at,
      batchSize: this.#cursor.batchSize,
      filter: this.collection.documentFilter,
      signal,
    });
  }

  /** Under a collation only the server knows the order: everything is written again, by `_id`. */
  #inside(documents: Uint8Array[]): Uint8Array[] {
    const { lower, upper } = this.partition;
    if (this.collection.collated) return documents;
    const from = this.#last ?? lower;
    const readsFromAgain = this.#last === null || this.collection.readBy !== 'uuid';
    return documents.filter((document) => {
      const id = idOf(document);
      const order = compareRaw(id, from);
      return (
        (order > 0 || (order === 0 && readsFromAgain)) &&
        (upper.type === elementType.maxKey || compareRaw(id, upper) < 0)
      );
    });
  }

  /**
   * The first document of a reopened cursor is the last one read before. Through a router it may be another document
   * with the same `_id`, of another shard: then all pass, and the writer finds those already written by their `_id`.
   */
  #afterLast(documents: Uint8Array[]): Uint8Array[] {
    const first = documents[0];
    if (this.#last === null || first === undefined || this.collection.readBy !== 'uuid') return documents;
    return compareRaw(idOf(first), this.#last) === 0 ? documents.slice(1) : documents;
  }
}
