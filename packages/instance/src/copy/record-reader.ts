import type { Timestamp } from 'mongodb';
import { timestampOf } from '../cluster/cluster-time.js';
import { codeOf, keyNotFoundCode } from '../cluster/failure.js';
import type { RawBatch, RawCursor } from '../cluster/node-client.js';
import { primaryTerm } from '../cluster/topology.js';
import { openRecordCursor, readTarget } from '../cluster/snapshot-read.js';
import type { RecordScan, RecordToken } from '../store/record-scan.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import type { CopyDependencies } from './copy-dependencies.js';
import { PacedCursor } from './paced-cursor.js';
import { RecordOrderLeftError } from './record-order-left.js';

/** A scan that has to begin again this often is left for a copy in `_id` order, which continues after a failover. */
const lossesMax = 3;

/** BadValue, FailedToParse, TypeMismatch, CommandNotSupported, unknown field: the server takes no such read. */
const refusals: ReadonlySet<number | null> = new Set([2, 9, 14, 115, 40_415]);

/** The place was given by another member: it belongs to that one's initial sync. */
const otherSyncCode = 8_132_701;

/** Another member is primary now, whose record numbers are others. */
export class OtherRecordsError extends Error {
  override readonly name = 'OtherRecordsError';
}

/** What a piece has read. */
export interface RecordBatch {
  /** Those that the task owns. */
  documents: Uint8Array[];
  /** Position after them; null at the end of the collection. */
  token: RecordToken | null;
}

/**
 * Reads one piece of a collection at one time in record order, all of it from the primary of one term. Reopens a lost
 * cursor at the same time, after the last batch.
 */
export class RecordReader {
  readonly #cursor: PacedCursor;
  readonly #at: Timestamp;
  #term: string | null = null;
  #places: readonly RecordToken[] = [];
  #after: RecordToken | null = null;
  /** A batch that was read before it was asked for. */
  #first: RawBatch | null = null;

  constructor(
    private readonly collection: SyncedCollection,
    private readonly scan: RecordScan,
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

  /**
   * Finds the place where the piece begins.
   * @throws RecordOrderLeftError when the scan had to begin again too often, or the server refuses it
   */
  async begin(signal: AbortSignal): Promise<void> {
    this.#first = await this.#cursor.fetch(signal);
  }

  /** The next documents; null at the end of the collection. @throws as `begin`, and OtherRecordsError */
  async next(signal: AbortSignal): Promise<RecordBatch | null> {
    if (this.#first === null && !this.#cursor.open) return null;
    const batch = this.#first ?? (await this.#cursor.fetch(signal));
    this.#first = null;
    await this.#cursor.count(batch, signal);
    if (this.#cursor.open && batch.recordToken === undefined) throw new RecordOrderLeftError('refused');
    this.#after = batch.recordToken ?? null;
    return {
      documents: batch.documents.filter((document) => this.collection.owns(document, 'document')),
      token: this.#after,
    };
  }

  async close(): Promise<void> {
    await this.#cursor.close();
  }

  /** The term is the same before and after the opening, so that its primary has answered. */
  async #open(signal: AbortSignal): Promise<RawCursor> {
    const term = await primaryTerm(this.deps.shard, { signal });
    if (term === null || (this.#term !== null && this.#term !== term)) throw new OtherRecordsError('another primary');
    if (this.#term === null) this.#places = this.scan.placesIn(term);
    this.#term = term;
    this.#refuseLosses();
    const cursor = await this.#openAtPlace(signal);
    try {
      if ((await primaryTerm(this.deps.shard, { signal })) !== term) throw new OtherRecordsError('another primary');
    } catch (error) {
      await cursor.close();
      throw error;
    }
    return cursor;
  }

  /** A lost cursor continues at its own place, whose record exists at the piece's time. */
  async #openAtPlace(signal: AbortSignal): Promise<RawCursor> {
    if (this.#after !== null) return this.#openAfter(this.#after, signal);
    for (const place of this.#places) {
      try {
        return await this.#openAfter(place, signal);
      } catch (error) {
        if (codeOf(error) !== keyNotFoundCode) throw error;
        this.scan.beginEarlier();
      }
    }
    if (this.#places.length > 0) {
      this.#places = [];
      this.scan.beginAgain();
      this.#refuseLosses();
    }
    return this.#openAfter(null, signal);
  }

  async #openAfter(after: RecordToken | null, signal: AbortSignal): Promise<RawCursor> {
    const { database } = this.collection;
    const batchSize = this.#cursor.batchSize;
    const options = { database, target: readTarget(this.collection), at: this.#at, batchSize, after, signal };
    try {
      return await openRecordCursor(this.deps.shard, options);
    } catch (error) {
      if (refusals.has(codeOf(error))) throw new RecordOrderLeftError('refused');
      if (codeOf(error) === otherSyncCode) throw new OtherRecordsError('another member');
      throw error;
    }
  }

  #refuseLosses(): void {
    if (this.scan.losses > lossesMax) throw new RecordOrderLeftError('positionsLost');
  }
}
