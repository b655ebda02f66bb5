import { BatchSize, ResumableCursor } from '../cluster/reads.js';
import { highestTime, timeOf } from '../cluster/cluster-time.js';
import type { RawBatch, RawCursor } from '../cluster/node-client.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import type { CopyDependencies } from './copy-dependencies.js';

/** A cursor over a collection at one time, which reads as much as the copy may; a lost one is opened again. */
export class PacedCursor {
  readonly #cursor: ResumableCursor;
  readonly #size: BatchSize;
  #readEnd: bigint;

  /** @param open opens the cursor where it continues */
  constructor(
    { documentBytes }: SyncedCollection,
    private readonly deps: CopyDependencies,
    readTime: bigint,
    open: (signal: AbortSignal) => Promise<RawCursor>,
  ) {
    this.#cursor = new ResumableCursor(open);
    this.#size = new BatchSize(documentBytes ?? 0);
    this.#readEnd = readTime;
  }

  /** False once the server reports the end. */
  get open(): boolean {
    return this.#cursor.open;
  }

  /** The shard's operation time at the latest reply. */
  get readEnd(): bigint {
    return this.#readEnd;
  }

  /** Upper bound of the documents in the next batch. */
  get batchSize(): number {
    return this.#size.documents;
  }

  fetch(signal: AbortSignal): Promise<RawBatch> {
    const next = () => this.#cursor.next({ signal, batchDocumentsMax: this.#size.documents });
    return this.deps.retrying('read documents', () => this.deps.concurrency.reads.run(next, signal), signal);
  }

  /** Counts a batch that was fetched; waits until the next one may follow. */
  async count(batch: RawBatch, signal: AbortSignal): Promise<void> {
    if (batch.operationTime !== undefined) this.#readEnd = highestTime([this.#readEnd, timeOf(batch.operationTime)]);
    this.#size.received(batch);
    await this.deps.rate.spent(batch.bytes, signal);
  }

  async close(): Promise<void> {
    await this.#cursor.close();
  }
}
