import { Buffer } from 'node:buffer';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ByteBudget } from '../async/waiting.js';
import { ownedValue, type RawValue } from '../bson/scan.js';
import { hasZeroTimestamp } from '../bson/sent-value.js';
import { highestTime, timeOf, timestampOf } from '../cluster/cluster-time.js';
import { classify, duplicateKeyCode, historyIncompleteCode } from '../cluster/failure.js';
import type { RawCursor } from '../cluster/node-client.js';
import { BatchSize } from '../cluster/reads.js';
import type { ChangeEvent, RoutedStream } from '../store/change-event.js';
import { writeRefused } from '../store/fenced-writer.js';
import type { Partition } from '../store/partition.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import type { PartitionCopy } from './copier.js';
import { abandon, beginReading, closePartition, untilCopied } from './copy-partition.js';
import { idOf, upsertStatement } from './partition-writer.js';

/**
 * Copies a capped collection in natural order, one insert in flight. Servers before 8.0 cannot read it at one time.
 * The copy is a prefix of the insertion order: it includes the buffered inserts up to the last copied document, and the
 * later ones follow in order. Every further attempt starts with an empty collection.
 * @throws ConvoyError `cappedCollectionBusy` when writers keep overwriting the documents to read, or change more than
 * the budget holds
 */
export async function copyCapped(copy: PartitionCopy): Promise<void> {
  const { deps, stop } = copy;
  await untilCopied(copy, {
    attempt: () => deps.retrying('copy a capped collection', () => attemptCapped(copy), stop),
    passes: (error: unknown) =>
      error instanceof UncertainEnd || ['historyLost', 'catalogChanged'].includes(classify(error)),
    tooMany: () => tooBusy(copy.table.collection),
  });
}

async function attemptCapped(copy: PartitionCopy): Promise<void> {
  const { table, partition, deps, stop } = copy;
  try {
    const begin = await beginReading(copy);
    if (partition.dirty) await deps.restarts.recreate(table.collection.uuid, stop);
    partition.markDirty();
    await table.persist();
    const reading = await copyInOrder(copy, begin);
    partition.endReading(reading.end);
    await deps.cappedEnds.settle(partition, reading, stop);
    await closePartition(copy);
  } catch (error) {
    if (!partition.closing) abandon(copy);
    throw error;
  }
}

async function copyInOrder(copy: PartitionCopy, begin: bigint): Promise<CappedReading> {
  const { table, partition, deps, stop } = copy;
  const size = new BatchSize(table.collection.documentBytes ?? 0);
  const cursor = await deps.retrying('read a capped collection', () => open(copy, begin, size.documents), stop);
  let last: RawValue | null = null;
  let end = begin;
  try {
    for (let batch = cursor.first; ; batch = await cursor.next({ signal: stop, batchDocumentsMax: size.documents })) {
      size.received(batch);
      if (batch.operationTime !== undefined) end = highestTime([end, timeOf(batch.operationTime)]);
      await insertInOrder(copy, batch.documents);
      partition.wrote(batch.documents.length, batch.bytes);
      const final = batch.documents.at(-1);
      if (final !== undefined) last = ownedValue(idOf(final));
      if (!cursor.open) return { last, end };
    }
  } finally {
    await cursor.close();
  }
}

function open({ table, deps, stop: signal }: PartitionCopy, begin: bigint, batchSize: number): Promise<RawCursor> {
  const { database, name } = table.collection;
  const command = {
    find: name,
    sort: { $natural: 1 },
    batchSize,
    readConcern: { level: 'majority', afterClusterTime: timestampOf(begin) },
  };
  return deps.shard.openCursor(database, command, { signal });
}

/** Sends one write after the other. Documents that an insert would change (zero timestamps) are upserted. */
async function insertInOrder({ table, deps, hard }: PartitionCopy, documents: readonly Uint8Array[]): Promise<void> {
  const { database, name: collection } = table.collection.destination;
  for (const { kind, statements } of runsOf(documents, table.collection)) {
    const outcome = await deps.writer.write({ database, collection, kind, statements, ordered: true }, hard);
    const failure = outcome.failures[0];
    if (failure?.code === duplicateKeyCode || failure?.code === historyIncompleteCode) throw new UncertainEnd();
    if (failure !== undefined) throw writeRefused(table.collection, failure.code);
  }
}

/** Statements in the order of the documents, grouped into runs of one kind. */
function runsOf(
  documents: readonly Uint8Array[],
  collection: SyncedCollection,
): { kind: 'insert' | 'update'; statements: Uint8Array[] }[] {
  const runs: { kind: 'insert' | 'update'; statements: Uint8Array[] }[] = [];
  for (const document of documents) {
    const kind = hasZeroTimestamp(document) ? 'update' : 'insert';
    const statement = kind === 'update' ? upsertStatement(document, collection) : document;
    const last = runs.at(-1);
    if (last?.kind === kind) last.statements.push(statement);
    else runs.push({ kind, statements: [statement] });
  }
  return runs;
}

function tooBusy({ database, name }: SyncedCollection): ConvoyError {
  return new ConvoyError(
    'cappedCollectionBusy',
    `The capped collection ${database}.${name} changes faster than it can be copied. ` +
      'Exclude it, slow down its writers or raise memoryBytesMax.',
  );
}

/**
 * When waiting capped copies buffer this fraction of the budget, they drop the events that they do not need. All other
 * bytes in the budget are freed without their help.
 */
const bufferedFractionMax = 0.75;

/** What a capped copy has read. */
export interface CappedReading {
  /** The `_id` of the last copied document; null when there was none. */
  last: RawValue | null;
  /** The shard's operation time when the read ended. */
  end: bigint;
}

/** It is unknown which changes the copy of a capped collection includes. */
export class UncertainEnd extends Error {
  override readonly name = 'UncertainEnd';
}

/** A copy that waits for the stream. */
interface Waiting extends CappedReading {
  /** Inserts were dropped before the insert of the last document was seen. */
  hasDropped: boolean;
}

/**
 * Capped copies that have read everything and wait for the stream. Until then they buffer their events, and a full
 * budget stops the stream. A copy includes every insert before that of its last document, so these can be dropped.
 */
export class CappedEnds {
  readonly #waiting = new Map<Partition, Waiting>();

  /** @param budget counts the buffered events; while it is full, the stream is not read */
  constructor(
    private readonly budget: ByteBudget,
    private readonly stream: Pick<RoutedStream, 'untilRoutedOrFull'>,
  ) {}

  /**
   * Resolves once everything up to the end of the read is routed and the buffer holds only changes that the copy lacks.
   * @throws UncertainEnd when these changes are unknown, or too large for the budget
   */
  async settle(partition: Partition, reading: CappedReading, signal: AbortSignal): Promise<void> {
    const waiting = { ...reading, hasDropped: false };
    this.#waiting.set(partition, waiting);
    try {
      while (!(await this.stream.untilRoutedOrFull(reading.end, signal))) {
        this.#relieve();
        await this.budget.untilFree(signal);
      }
    } finally {
      this.#waiting.delete(partition);
    }
    this.#dropCopied(partition, waiting);
  }

  #relieve(): void {
    if (!this.#buffersTooMuch()) return;
    for (const [partition, waiting] of this.#waiting) this.#dropInserts(partition, waiting);
    if (this.#buffersTooMuch()) throw new UncertainEnd();
  }

  #buffersTooMuch(): boolean {
    let buffered_bytes = 0;
    for (const { buffered } of this.#waiting.keys()) for (const { bytes } of buffered) buffered_bytes += bytes;
    return buffered_bytes >= this.budget.bytesMax * bufferedFractionMax;
  }

  /**
   * The stream is far behind the end of the read, so the copy very likely includes these inserts. It does not only when
   * the insert of the last document never arrives; `#dropCopied` checks that.
   */
  #dropInserts(partition: Partition, waiting: Waiting): void {
    if (waiting.last === null) return;
    const ofLast = isOf(waiting);
    const insertOfLast = partition.buffered.findIndex((event) => event.operation === 'insert' && ofLast(event));
    const upTo = insertOfLast < 0 ? partition.buffered.length - 1 : insertOfLast;
    const dropped = this.#drop(partition, upTo, (event) => !ofLast(event));
    if (insertOfLast < 0 && dropped > 0) waiting.hasDropped = true;
  }

  /**
   * Drops the buffered inserts that the copy includes; all of them are routed. The copy includes nothing after the end
   * of the read, not even under the `_id` of the last copied document.
   */
  #dropCopied(partition: Partition, waiting: Waiting): void {
    if (waiting.last === null) return;
    const ofLast = isOf(waiting);
    const operations = partition.buffered.filter(ofLast).map(({ operation }) => operation);
    if (operations.includes('delete') || operations.filter((operation) => operation === 'insert').length > 1)
      throw new UncertainEnd();
    const insertOfLast = partition.buffered.findIndex((event) => event.operation === 'insert' && ofLast(event));
    if (insertOfLast < 0 && waiting.hasDropped) throw new UncertainEnd();
    this.#drop(partition, insertOfLast, () => true);
  }

  /**
   * Drops inserts up to an index, and all earlier events with their `_id`s, which belong to older documents.
   * @returns the number of dropped events
   */
  #drop(partition: Partition, upTo: number, isDropped: (event: ChangeEvent) => boolean): number {
    const insertedAt = new Map<string, number>();
    partition.buffered.forEach((event, index) => {
      if (event.operation === 'insert' && index <= upTo && isDropped(event)) insertedAt.set(idText(event.id), index);
    });
    const dropped = partition.dropBuffered((event, index) => index <= (insertedAt.get(idText(event.id)) ?? -1));
    for (const { bytes } of dropped) this.budget.give(bytes);
    return dropped.length;
  }
}

/** Matches events up to the end of the read with the `_id` of the last copied document. */
function isOf({ last, end }: CappedReading): (event: ChangeEvent) => boolean {
  return ({ id, time }) =>
    last !== null && time <= end && id.type === last.type && Buffer.compare(id.bytes, last.bytes) === 0;
}

function idText({ type, bytes }: RawValue): string {
  return `${type}/${Buffer.from(bytes).toString('base64')}`;
}
