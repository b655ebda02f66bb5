import { compareRaw } from '../../bson/compare.js';
import { isLossless } from '../../bson/lossless.js';
import { bufferOf, ownedValue, type RawValue } from '../../bson/scan.js';
import { timestampOf } from '../../cluster/cluster-time.js';
import type { NodeClient, RawBatch, RawCursor } from '../../cluster/node-client.js';
import { type OpenFind, openIdRange } from '../../cluster/id-range.js';
import { ResumableCursor } from '../../cluster/resumable-cursor.js';
import type { Retrying } from '../../cluster/retry.js';
import { idOf } from './compare-group.js';
import { ComparisonBatchSize } from './comparison-batch-size.js';

/** What one side of a comparison reads. */
export interface OrderedRead {
  database: string;
  collection: string;
  /** The range of `_id` in the order of the index: from `lower` (inclusive) to `upper` (exclusive); null: no bound. Values that can be sent. */
  lower: RawValue | null;
  upper: RawValue | null;
  /** Everything that was written up to this cluster time is read. */
  after: bigint;
}

/**
 * The documents of a range in `_id` order, read at majority through a router, which leaves out orphans. The next batch is
 * fetched while one is compared. A lost cursor is opened again behind the last document.
 */
export class OrderedDocuments {
  /** The batch at hand, and how far it has been taken. */
  documents: readonly Uint8Array[] = [];
  at = 0;
  /** Bytes of all documents that were read. */
  bytes = 0;
  #documentCount = 0;
  readonly #cursor = new ResumableCursor(() => this.#open());
  #ahead: Promise<RawBatch> | null = null;
  #ended = false;
  #last: RawValue | null = null;
  /** Documents that were read with the last `_id`; a cursor that is opened again brings them once more. */
  #lastGroup: Buffer[] = [];
  #reopened = false;
  readonly #size = new ComparisonBatchSize();

  constructor(
    private readonly client: NodeClient,
    private readonly read: OrderedRead,
    private readonly retrying: Retrying,
    private readonly signal: AbortSignal,
  ) {}

  /** The document at hand; undefined when a batch has to be fetched, or nothing is left. */
  get current(): Uint8Array | undefined {
    return this.documents[this.at];
  }

  /** Documents that were taken; those at hand are not. */
  get takenDocuments(): number {
    return this.#documentCount - (this.documents.length - this.at);
  }

  /** Whether the batch at hand is used up and more may come. */
  get wantsBatch(): boolean {
    return this.at >= this.documents.length && !this.#ended;
  }

  /** Fetches a batch if none is at hand. Afterwards there is a document, or the range has ended. */
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

  /** All documents of an `_id` which the document at hand has. */
  async takeGroup(id: RawValue): Promise<Uint8Array[]> {
    const group: Uint8Array[] = [];
    const wanted = ownedValue(id);
    for (;;) {
      await this.fill();
      const document = this.current;
      if (document === undefined || compareRaw(idOf(document), wanted) !== 0) return group;
      group.push(document);
      this.at += 1;
    }
  }

  async close(): Promise<void> {
    const ahead = this.#ahead;
    this.#ahead = null;
    await ahead?.catch(() => undefined);
    await this.#cursor.close();
  }

  #take(batch: RawBatch): void {
    const fresh = this.#reopened ? batch.documents.filter((document) => this.#isFresh(document)) : batch.documents;
    this.documents = fresh;
    this.at = 0;
    this.#documentCount += fresh.length;
    this.bytes += batch.bytes;
    this.#remember(fresh);
  }

  #remember(documents: readonly Uint8Array[]): void {
    const last = documents.at(-1);
    if (last === undefined) return;
    const id = idOf(last);
    if (this.#last === null || compareRaw(id, this.#last) !== 0) this.#lastGroup = [];
    this.#last = ownedValue(id);
    for (let position = documents.length - 1; position >= 0; position -= 1) {
      const document = documents[position];
      if (document === undefined || compareRaw(idOf(document), this.#last) !== 0) return;
      this.#lastGroup.push(Buffer.from(document));
    }
  }

  #isFresh(document: Uint8Array): boolean {
    if (this.#last === null) return true;
    const order = compareRaw(idOf(document), this.#last);
    return order > 0 || (order === 0 && !this.#lastGroup.some((known) => known.equals(bufferOf(document))));
  }

  #fetchAhead(): void {
    const ahead = this.#fetch();
    // Whoever waits for the batch meets its failure; one that nobody waits for is not unhandled.
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
    const { database, collection, lower, upper, after } = this.read;
    const min = this.#last !== null && isLossless(this.#last) ? this.#last : lower;
    const command = {
      find: collection,
      batchSize: this.#size.documents,
      readConcern: { level: 'majority', afterClusterTime: timestampOf(after) },
    };
    const bounds = { ...(min === null ? {} : { min }), ...(upper === null ? {} : { max: upper }) };
    const open: OpenFind = (find, options) => this.client.openCursor(database, find, options);
    return openIdRange(open, command, bounds, { signal: this.signal });
  }
}
