import type { Timestamp } from 'mongodb';
import { elementType } from '../bson/element-type.js';
import { compareRaw } from '../bson/order.js';
import { ownedValue, type RawValue } from '../bson/scan.js';
import { isLossless } from '../bson/sent-value.js';
import { highestTime, timeOf, timestampOf } from '../cluster/cluster-time.js';
import type { RawBatch, RawCursor } from '../cluster/node-client.js';
import { openSnapshotCursor, readTarget } from '../cluster/range-read.js';
import { BatchSize } from '../cluster/reads.js';
import type { Partition } from '../store/partition.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import type { CopyDependencies } from './copier.js';
import { idOf } from './partition-writer.js';

/**
 * Reads a collection at one time: no faster than the copy may, in batches of about the same size. A cursor that is lost
 * is opened again, where the reading continues.
 */
export abstract class PacedReader {
  #cursor: RawCursor | null = null;
  readonly #size: BatchSize;
  #readEnd: bigint;
  protected readonly at: Timestamp;

  constructor(
    protected readonly collection: SyncedCollection,
    protected readonly deps: CopyDependencies,
    readTime: bigint,
  ) {
    this.at = timestampOf(readTime);
    this.#size = new BatchSize(collection.documentBytes ?? 0);
    this.#readEnd = readTime;
  }

  /** The shard's operation time at the latest reply. */
  get readEnd(): bigint {
    return this.#readEnd;
  }

  /** Closes the cursor on the server; never throws. */
  async close(): Promise<void> {
    const cursor = this.#cursor;
    this.#cursor = null;
    await cursor?.close();
  }

  /** Opens a cursor behind everything that was read. */
  protected abstract openCursor(signal: AbortSignal): Promise<RawCursor>;

  /** False once the server reports the end. */
  protected get isOpen(): boolean {
    return this.#cursor?.open === true;
  }

  /** Upper bound of the documents in the next batch. */
  protected get batchSize(): number {
    return this.#size.documents;
  }

  protected fetch(signal: AbortSignal): Promise<RawBatch> {
    const { retrying, concurrency } = this.deps;
    return retrying('read documents', () => concurrency.reads.run(() => this.#next(signal), signal), signal);
  }

  /** Counts a batch that was fetched; waits until the next one may follow. */
  protected async count(batch: RawBatch, signal: AbortSignal): Promise<void> {
    if (batch.operationTime !== undefined) this.#readEnd = highestTime([this.#readEnd, timeOf(batch.operationTime)]);
    this.#size.received(batch);
    await this.deps.rate.spent(batch.bytes, signal);
  }

  async #next(signal: AbortSignal): Promise<RawBatch> {
    try {
      if (this.#cursor !== null) return await this.#cursor.next({ signal, batchDocumentsMax: this.batchSize });
      this.#cursor = await this.openCursor(signal);
      return this.#cursor.first;
    } catch (error) {
      await this.close();
      throw error;
    }
  }
}

/** Reads one partition at one time in `_id` order. Reopens a lost cursor at the same time, after the last document. */
export class PartitionReader extends PacedReader {
  #last: RawValue | null = null;
  #ended = false;
  /** The cursor also returns documents outside the partition, or documents that were read before. */
  #widened = false;

  constructor(
    collection: SyncedCollection,
    private readonly partition: Partition,
    deps: CopyDependencies,
    readTime: bigint,
  ) {
    super(collection, deps, readTime);
  }

  /** The next documents that the task owns; null at the end of the partition. */
  async next(signal: AbortSignal): Promise<Uint8Array[] | null> {
    while (!this.#ended) {
      const batch = await this.fetch(signal);
      if (!this.isOpen) this.#ended = true;
      await this.count(batch, signal);
      const fresh = this.#widened ? this.#inside(batch.documents) : this.#afterLast(batch.documents);
      const last = fresh.at(-1);
      if (last !== undefined) this.#last = ownedValue(idOf(last));
      const owned = fresh.filter((document) => this.collection.owns(document, 'document'));
      if (owned.length > 0) return owned;
    }
    return null;
  }

  /** Leaves out a bound that cannot be sent; `#inside` then filters the documents. */
  protected openCursor(signal: AbortSignal): Promise<RawCursor> {
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
      at: this.at,
      batchSize: this.batchSize,
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
