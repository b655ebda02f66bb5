import type { Timestamp } from 'mongodb';
import { elementType } from '../bson/element-type.js';
import { compareRaw } from '../bson/compare.js';
import { isLossless } from '../bson/lossless.js';
import { ownedValue, type RawValue } from '../bson/scan.js';
import { highestTime, timeOf, timestampOf } from '../cluster/cluster-time.js';
import { BatchSize } from '../cluster/batch-size.js';
import type { RawBatch, RawCursor } from '../cluster/node-client.js';
import { ResumableCursor } from '../cluster/resumable-cursor.js';
import { openSnapshotCursor, readTarget } from '../cluster/snapshot-read.js';
import type { Partition } from '../store/partition.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import type { CopyDependencies } from './copy-dependencies.js';
import { idOf } from './partition-writer.js';

/** Reads one partition at one time in `_id` order. Reopens a lost cursor at the same time, after the last document. */
export class PartitionReader {
  readonly #cursor = new ResumableCursor((signal) => this.#open(signal));
  #last: RawValue | null = null;
  #ended = false;
  /** The cursor also returns documents outside the partition, or documents that were read before. */
  #widened = false;
  #readEnd: bigint;
  readonly #at: Timestamp;
  readonly #size: BatchSize;

  constructor(
    private readonly collection: SyncedCollection,
    private readonly partition: Partition,
    private readonly deps: CopyDependencies,
    readTime: bigint,
  ) {
    this.#at = timestampOf(readTime);
    this.#readEnd = readTime;
    this.#size = new BatchSize(collection.documentBytes ?? 0);
  }

  /** The shard's operation time at the latest reply. */
  get readEnd(): bigint {
    return this.#readEnd;
  }

  /** The next documents that the task owns; null at the end of the partition. */
  async next(signal: AbortSignal): Promise<Uint8Array[] | null> {
    while (!this.#ended) {
      const batch = await this.deps.retrying('read documents', () => this.#fetch(signal), signal);
      if (batch.operationTime !== undefined) this.#readEnd = highestTime([this.#readEnd, timeOf(batch.operationTime)]);
      if (!this.#cursor.open) this.#ended = true;
      this.#size.received(batch);
      await this.deps.rate.spent(batch.bytes, signal);
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

  #fetch(signal: AbortSignal): Promise<RawBatch> {
    const next = () => this.#cursor.next({ signal, batchDocumentsMax: this.#size.documents });
    return this.deps.concurrency.reads.run(next, signal);
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
      batchSize: this.#size.documents,
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
