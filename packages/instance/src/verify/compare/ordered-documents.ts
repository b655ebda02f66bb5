import type { Document } from 'mongodb';
import { bufferOf, ownedValue, type RawValue } from '../../bson/scan.js';
import { timestampOf } from '../../cluster/cluster-time.js';
import { freeReply } from '../../cluster/driver/driver-receive.js';
import { BatchSize, matchingAll, ResumableCursor } from '../../cluster/reads.js';
import type { NodeClient, RawBatch, RawCursor } from '../../cluster/node-client.js';
import { type OpenFind, openIdRange } from '../../cluster/range-read.js';
import type { Retrying } from '../../async/retry.js';
import { compareIds, idOrNull, isSendable } from '../../bson/id.js';

/** What one side of a comparison reads. */
export interface OrderedRead {
  database: string;
  collection: string;
  /**
   * The `_id` range in index order: from `lower` (inclusive) to `upper` (exclusive); null: unbounded. Values must be
   * sendable.
   */
  lower: RawValue | null;
  upper: RawValue | null;
  /** The read sees everything written up to this cluster time. */
  after: bigint;
  /** Reads only documents that match; absent: all. */
  filter?: Document | undefined;
  /** The estimated size of one document; 0 when unknown. */
  documentBytes: number;
}

/**
 * The documents of a range in `_id` order, read at majority through a router, which filters out orphans. It fetches the
 * next batch while one is compared, and reopens a lost cursor after the last document.
 */
export class OrderedDocuments {
  /** The current batch, and the position in it. */
  documents: readonly Uint8Array[] = [];
  at = 0;
  /** Bytes of all documents read. */
  bytes = 0;
  #documentCount = 0;
  readonly #cursor = new ResumableCursor(() => this.#open());
  #ahead: Promise<RawBatch> | null = null;
  #ended = false;
  #last: RawValue | null = null;
  /** Documents read with the last `_id`; a reopened cursor returns them once more. */
  #lastGroup: Uint8Array[] = [];
  #reopened = false;
  readonly #size: BatchSize;

  constructor(
    private readonly client: NodeClient,
    private readonly read: OrderedRead,
    private readonly retrying: Retrying,
    private readonly signal: AbortSignal,
  ) {
    this.#size = new BatchSize(read.documentBytes);
  }

  /** The current document; undefined if a batch must be fetched, or nothing is left. */
  get current(): Uint8Array | undefined {
    return this.documents[this.at];
  }

  /** Number of documents taken, without those in the current batch. */
  get takenDocuments(): number {
    return this.#documentCount - (this.documents.length - this.at);
  }

  /** Whether the current batch is used up and more may follow. */
  get wantsBatch(): boolean {
    return this.at >= this.documents.length && !this.#ended;
  }

  /** Fetches a batch if there is none. Afterwards there is a document, or the range has ended. */
  async fill(): Promise<void> {
    while (this.wantsBatch) {
      const batch = await (this.#ahead ?? this.#fetch());
      this.#ahead = null;
      if (!this.#cursor.open) this.#ended = true;
      this.#size.received(batch);
      this.#take(batch);
      if (!this.#ended) this.#fetchAhead();
    }
  }

  /** Copies of all documents with the `_id` of the current document: batches are freed once they are used up. */
  async takeGroup(id: RawValue): Promise<Uint8Array[]> {
    const group: Uint8Array[] = [];
    const wanted = ownedValue(id);
    for (;;) {
      await this.fill();
      const document = this.current;
      if (document === undefined || compareIds(idOrNull(document), wanted) !== 0) return group;
      group.push(Buffer.from(document));
      this.at += 1;
    }
  }

  async close(): Promise<void> {
    const ahead = this.#ahead;
    this.#ahead = null;
    await ahead?.catch(() => undefined);
    freeReply(this.documents);
    [this.documents, this.at] = [[], 0];
    await this.#cursor.close();
  }

  #take(batch: RawBatch): void {
    const before = this.documents;
    const fresh = this.#reopened ? batch.documents.filter((document) => this.#isFresh(document)) : batch.documents;
    this.documents = fresh;
    this.at = 0;
    this.#documentCount += fresh.length;
    this.bytes += batch.bytes;
    this.#remember(fresh);
    const memory = before[0]?.buffer;
    if (!this.#lastGroup.some(({ buffer }) => buffer === memory)) freeReply(before);
  }

  #remember(documents: readonly Uint8Array[]): void {
    const last = documents.at(-1);
    if (last === undefined) return;
    const id = idOrNull(last);
    if (this.#last === null || compareIds(id, this.#last) !== 0) this.#lastGroup = [];
    this.#last = ownedValue(id);
    for (let position = documents.length - 1; position >= 0; position -= 1) {
      const document = documents[position];
      if (document === undefined || compareIds(idOrNull(document), this.#last) !== 0) return;
      this.#lastGroup.push(document);
    }
  }

  #isFresh(document: Uint8Array): boolean {
    if (this.#last === null) return true;
    const order = compareIds(idOrNull(document), this.#last);
    return order > 0 || (order === 0 && !this.#lastGroup.some((known) => bufferOf(known).equals(document)));
  }

  #fetchAhead(): void {
    const ahead = this.#fetch();
    // Waiting for the batch throws its failure; this keeps it from being an unhandled rejection.
    ahead.catch(() => undefined);
    this.#ahead = ahead;
  }

  #fetch(): Promise<RawBatch> {
    const { signal } = this;
    const next = () => this.#cursor.next({ signal, batchDocumentsMax: this.#size.documents });
    return this.retrying(`read ${this.client.label}`, next, signal);
  }

  #open(): Promise<RawCursor> {
    this.#reopened = this.#last !== null;
    const { database, collection, lower, upper, after, filter } = this.read;
    const min = this.#last !== null && isSendable(this.#last) ? this.#last : lower;
    const command = {
      find: collection,
      ...matchingAll(filter),
      batchSize: this.#size.documents,
      readConcern: { level: 'majority', afterClusterTime: timestampOf(after) },
    };
    const bounds = { ...(min === null ? {} : { min }), ...(upper === null ? {} : { max: upper }) };
    const open: OpenFind = (find, options) => this.client.openCursor(database, find, options);
    return openIdRange(open, command, bounds, { signal: this.signal });
  }
}
