import { replaceStatement } from '../bson/build.js';
import { findValue, ownedValue, type RawValue } from '../bson/scan.js';
import { hasZeroTimestamp } from '../bson/sent-value.js';
import { fullKeyFilter } from '../bson/shard-key.js';
import { freeReply } from '../cluster/driver/driver-receive.js';
import type { RawWrite, WriteOutcome } from '../cluster/node-client.js';
import { rereadOfRefusal, rereadOfUpsert, writeRefused } from '../store/fenced-writer.js';
import type { Partition } from '../store/partition.js';
import type { RereadReason, RereadRequest } from '../store/reread-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import type { CopyDependencies } from './copier.js';

/** Batches of a partition in flight while the source is read: more would only use memory. */
const writesInFlightMax = 2;

/** Writes the batches of one partition, several at once, and counts the acknowledged documents. */
export class PartitionWriter {
  readonly #inFlight = new Set<Promise<void>>();
  #failure: unknown = null;

  /** @param replaces the partition may hold documents of an earlier attempt, which the writes replace */
  constructor(
    private readonly collection: SyncedCollection,
    private readonly partition: Partition,
    private readonly replaces: boolean,
    private readonly deps: Pick<CopyDependencies, 'writer' | 'rereads' | 'budget' | 'concurrency'>,
  ) {}

  /**
   * Sends a batch without waiting for its answer; waits while too many are in flight. Rejects when an earlier one
   * failed. Once the batch is written, nobody may read its documents any more.
   */
  async write(documents: readonly Uint8Array[], signal: AbortSignal): Promise<void> {
    while (this.#inFlight.size >= writesInFlightMax) await Promise.race(this.#inFlight);
    this.#throwFailure();
    if (documents.length === 0) return;
    const bytes = documents.reduce((sum, document) => sum + document.length, 0);
    this.deps.budget.take(bytes);
    const sending: Promise<void> = this.#send(documents, bytes, signal)
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => {
        this.deps.budget.give(bytes);
        this.#inFlight.delete(sending);
      });
    this.#inFlight.add(sending);
  }

  /** Resolves once all batches are acknowledged and all re-read requests are durable. */
  async finish(): Promise<void> {
    await Promise.all(this.#inFlight);
    this.#throwFailure();
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure as Error;
  }

  async #send(documents: readonly Uint8Array[], bytes: number, signal: AbortSignal): Promise<void> {
    const { inserts, upserts } = this.#sorted(documents);
    if (inserts.length > 0) await this.#bulk('insert', inserts, inserts, signal);
    if (upserts.length > 0) await this.#upsert(upserts, signal);
    this.partition.wrote(documents.length, bytes);
    this.deps.concurrency.acknowledged(bytes);
    freeReply(documents);
  }

  /** Upserts documents that may be there already, and those that an insert would change (zero timestamps). */
  #sorted(documents: readonly Uint8Array[]): { inserts: readonly Uint8Array[]; upserts: readonly Uint8Array[] } {
    if (this.replaces) return { inserts: [], upserts: documents };
    const isUpsert = documents.map(hasZeroTimestamp);
    if (!isUpsert.includes(true)) return { inserts: documents, upserts: [] };
    return {
      inserts: documents.filter((_, index) => !isUpsert[index]),
      upserts: documents.filter((_, index) => isUpsert[index]),
    };
  }

  /** Upserts documents; requests a re-read of those that no upsert statement can write. */
  async #upsert(documents: readonly Uint8Array[], signal: AbortSignal): Promise<void> {
    const rereadRequests: RereadRequest[] = [];
    const fitting = documents.flatMap((document) => {
      const statement = upsertStatement(document, this.collection);
      const reason = rereadOfUpsert(statement, document, this.collection);
      if (reason === null) return [{ document, statement }];
      rereadRequests.push(this.#reread(document, reason));
      return [];
    });
    if (fitting.length > 0)
      await this.#bulk(
        'update',
        fitting.map(({ document }) => document),
        fitting.map(({ statement }) => statement),
        signal,
      );
    if (rereadRequests.length > 0) await this.deps.rereads.add(rereadRequests);
  }

  async #bulk(
    kind: RawWrite['kind'],
    documents: readonly Uint8Array[],
    statements: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<void> {
    const { database, name } = this.collection.destination;
    const { writer, concurrency } = this.deps;
    const outcome = await concurrency.writes.run(
      () => writer.write({ database, collection: name, kind, statements, ordered: false }, signal),
      signal,
    );
    await this.deps.rereads.add(this.#rereadRequests(outcome, documents));
  }

  #rereadRequests(outcome: WriteOutcome, documents: readonly Uint8Array[]): RereadRequest[] {
    return outcome.failures.map((failure) => {
      const reason = rereadOfRefusal(this.collection, failure.code);
      if (reason === null) throw writeRefused(this.collection, failure.code);
      return this.#reread(documents[failure.index], reason);
    });
  }

  #reread(document: Uint8Array | undefined, reason: RereadReason): RereadRequest {
    const id = ownedValue(idOf(document));
    return { collection: this.collection, id, reason, time: this.partition.readTime ?? 0n };
  }
}

/** The statement that writes exactly these bytes, whether or not the document is there. */
export function upsertStatement(
  document: Uint8Array,
  { collated, destinationKey, isSeries }: SyncedCollection,
): Uint8Array {
  const filter = fullKeyFilter(document, destinationKey, idOf(document));
  return replaceStatement(filter, document, {
    simpleCollation: collated && destinationKey.length > 0,
    isBucket: isSeries,
  });
}

/** The `_id` of a document as a view of its bytes. */
export function idOf(document: Uint8Array | undefined): RawValue {
  const id = document === undefined ? null : findValue(document, '_id');
  if (id === null) throw new RangeError('a document without _id');
  return id;
}
