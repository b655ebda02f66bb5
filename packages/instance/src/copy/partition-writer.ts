import { replaceStatement } from '../bson/build.js';
import { findValue, type RawValue } from '../bson/scan.js';
import { fullKeyFilter } from '../bson/shard-key.js';
import { hasZeroTimestamp } from '../bson/zero-timestamp.js';
import type { RawWrite, WriteOutcome } from '../cluster/door.js';
import type { Partition } from '../store/partition-table.js';
import type { DoubtfulKey, RepairReason } from '../store/repair-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import { doubtOfPut, doubtOfRefusal, writeRefused } from '../store/write-refused.js';
import { type CopyContext, writesInFlightMax } from './copy-context.js';

/** Writes the batches of one partition, several at once, and counts what was acknowledged. */
export class PartitionWriter {
  readonly #inFlight = new Set<Promise<void>>();
  #failure: unknown = null;

  /** @param replaces the partition may hold documents of an earlier attempt: what is found is replaced */
  constructor(
    private readonly collection: SyncedCollection,
    private readonly partition: Partition,
    private readonly replaces: boolean,
    private readonly context: Pick<CopyContext, 'writer' | 'repairs' | 'budget' | 'width'>,
  ) {}

  /** Hands a batch over; waits while too many are in flight. Rejects when an earlier one failed. */
  async write(documents: readonly Uint8Array[], signal: AbortSignal): Promise<void> {
    while (this.#inFlight.size >= writesInFlightMax) await Promise.race(this.#inFlight);
    this.#throwFailure();
    if (documents.length === 0) return;
    const bytes = documents.reduce((sum, document) => sum + document.length, 0);
    this.context.budget.take(bytes);
    const sending: Promise<void> = this.#send(documents, bytes, signal)
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => {
        this.context.budget.give(bytes);
        this.#inFlight.delete(sending);
      });
    this.#inFlight.add(sending);
  }

  /** Resolves once everything handed over is acknowledged and every doubtful key is durable. */
  async finish(): Promise<void> {
    await Promise.all(this.#inFlight);
    this.#throwFailure();
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure as Error;
  }

  async #send(documents: readonly Uint8Array[], bytes: number, signal: AbortSignal): Promise<void> {
    const { inserts, puts } = this.#sorted(documents);
    if (inserts.length > 0) await this.#bulk('insert', inserts, inserts, signal);
    if (puts.length > 0) await this.#put(puts, signal);
    this.partition.documents += documents.length;
    this.partition.bytes += bytes;
    this.context.width.acknowledged(bytes);
  }

  /** What may be there already is replaced; so is what an insert would not write as it is. */
  #sorted(documents: readonly Uint8Array[]): { inserts: readonly Uint8Array[]; puts: readonly Uint8Array[] } {
    if (this.replaces) return { inserts: [], puts: documents };
    const isPut = documents.map(hasZeroTimestamp);
    if (!isPut.includes(true)) return { inserts: documents, puts: [] };
    return { inserts: documents.filter((_, index) => !isPut[index]), puts: documents.filter((_, index) => isPut[index]) };
  }

  /** Replaces what is there; what no statement can put is for the repair. */
  async #put(documents: readonly Uint8Array[], signal: AbortSignal): Promise<void> {
    const doubts: DoubtfulKey[] = [];
    const fitting = documents.flatMap((document) => {
      const statement = putStatement(document, this.collection);
      const reason = doubtOfPut(statement, document, this.collection);
      if (reason === null) return [{ document, statement }];
      doubts.push(this.#doubt(document, reason));
      return [];
    });
    if (fitting.length > 0) await this.#bulk('update', fitting.map(({ document }) => document), fitting.map(({ statement }) => statement), signal);
    if (doubts.length > 0) await this.context.repairs.add(doubts);
  }

  async #bulk(
    kind: RawWrite['kind'],
    documents: readonly Uint8Array[],
    statements: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<void> {
    const { database, name } = this.collection;
    const { writer, width } = this.context;
    const outcome = await width.writes.run(() => writer.write({ database, collection: name, kind, statements, ordered: false }, signal), signal);
    await this.context.repairs.add(this.#doubts(outcome, documents));
  }

  #doubts(outcome: WriteOutcome, documents: readonly Uint8Array[]): DoubtfulKey[] {
    return outcome.failures.map((failure) => {
      const reason = doubtOfRefusal(this.collection, failure.code);
      if (reason === null) throw writeRefused(this.collection, failure.code);
      return this.#doubt(documents[failure.index], reason);
    });
  }

  #doubt(document: Uint8Array | undefined, reason: RepairReason): DoubtfulKey {
    return { collection: this.collection, id: idOf(document), reason, time: this.partition.readTime ?? 0n };
  }
}

/** The statement that brings a document to exactly its bytes, whether or not it is there. */
export function putStatement(document: Uint8Array, { collated, destinationKey }: SyncedCollection): Uint8Array {
  const filter = fullKeyFilter(document, destinationKey, idOf(document));
  return replaceStatement(filter, document, { simpleCollation: collated && destinationKey.length > 0 });
}

/** The `_id` of a document as a view of its bytes. */
export function idOf(document: Uint8Array | undefined): RawValue {
  const id = document === undefined ? null : findValue(document, '_id');
  if (id === null) throw new RangeError('a document without _id');
  return id;
}
