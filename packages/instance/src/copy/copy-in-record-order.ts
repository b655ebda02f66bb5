import type { CopyOrderReason } from '@convoy/api/contract/copy-order';
import { codeOf, keyNotFoundCode, mayReadLater } from '../cluster/failure.js';
import type { RawBatch, RawCursor } from '../cluster/node-client.js';
import { openRecordCursor, readTarget } from '../cluster/range-read.js';
import { primaryTerm } from '../cluster/topology.js';
import type { RecordScan, RecordToken } from '../store/record-scan.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import type { CopyDependencies, PartitionCopy } from './copier.js';
import { abandon, beginReading, closePartition, refuseUnfenced, untilCopied } from './copy-partition.js';
import { PacedReader } from './partition-reader.js';
import { PartitionWriter } from './partition-writer.js';

/**
 * Copies a partition in the order of its records, in pieces. Each piece is read at its own time, ends after
 * `partition_seconds`, and begins after the last record of the piece before it. From the first of these times on, every
 * document that changes is re-read after the last one: see `RecordScan`. When too many change, or the positions are
 * lost too often, the partition is copied again in `_id` order.
 */
export async function copyInRecordOrder(copy: PartitionCopy): Promise<void> {
  const { partition, deps, stop } = copy;
  const { full, close } = watchFull(deps);
  const untilFull = { ...copy, stop: AbortSignal.any([stop, full]) };
  const copying = {
    attempt: async () => {
      const { scan } = partition;
      if (scan !== null) await attemptPiece({ ...untilFull, scan }, stop);
    },
    passes: (error: unknown) => !partition.closing && isPassing(error),
    tooMany: () => new RecordOrderLeftError('interrupted'),
  };
  try {
    while (partition.scan !== null) {
      untilFull.stop.throwIfAborted();
      await untilCopied(untilFull, copying);
    }
  } catch (error) {
    if (!(error instanceof RecordOrderLeftError)) throw error;
    await leave(copy, error);
  } finally {
    close();
  }
}

/** Aborts once the re-read set is full, also while the copy waits for the stream, whose events fill it. */
function watchFull({ rereads }: CopyDependencies): { full: AbortSignal; close: () => void } {
  const [full, closed] = [new AbortController(), new AbortController()];
  rereads.added
    .until(() => rereads.isFull, closed.signal)
    .then(
      () => full.abort(new RecordOrderLeftError('changes')),
      () => undefined,
    );
  return { full: full.signal, close: () => closed.abort() };
}

/** Whether another piece may read on after this failure. */
function isPassing(error: unknown): boolean {
  return error instanceof OtherRecordsError || mayReadLater(error);
}

/** One piece of a scan. */
interface Piece extends PartitionCopy {
  scan: RecordScan;
}

/** @param untilDone ends a copy whose documents are all written */
async function attemptPiece(piece: Piece, untilDone: AbortSignal): Promise<void> {
  try {
    await copyPiece(piece, untilDone);
  } catch (error) {
    if (!piece.partition.closing) abandon(piece);
    throw error;
  }
}

async function copyPiece(piece: Piece, untilDone: AbortSignal): Promise<void> {
  const { table, partition, scan, deps, stop } = piece;
  const readTime = await beginReading(piece);
  const reader = new RecordReader(table.collection, scan, deps, readTime);
  let writer: PartitionWriter | null = null;
  try {
    await reader.begin(stop);
    writer = new PartitionWriter(table.collection, partition, scan.replaces, deps);
    partition.markDirty();
    scan.startWriting();
    // Also the read time: a later piece may not be read before it.
    await table.persist();
    const { ended, tokens } = await pump(reader, writer, piece);
    await writer.finish();
    partition.endReading(reader.readEnd);
    if (ended) await finish(piece, readTime, untilDone);
    else {
      partition.endPiece(tokens);
      await table.persist();
    }
  } finally {
    await reader.close();
    await writer?.finish().catch(refuseUnfenced);
  }
}

/** Reads and writes until the collection ends, the time of the piece is up, or the reading ends before that. */
async function pump(
  reader: RecordReader,
  writer: PartitionWriter,
  { deps, stop, hard }: Piece,
): Promise<{ ended: boolean; tokens: RecordToken[] }> {
  const closeAt_ms = deps.clock.monotonic_ms() + deps.partition_seconds * 1000;
  const tokens: RecordToken[] = [];
  for (;;) {
    const batch = await nextBatch(reader, deps, stop).catch((error: unknown) => {
      // What was read so far is a piece.
      if (tokens.length > 0 && (stop.aborted || isPassing(error))) return 'broken' as const;
      throw error;
    });
    if (batch === 'broken') return { ended: false, tokens };
    if (batch === null) return { ended: true, tokens };
    await writer.write(batch.documents, hard);
    if (batch.token !== null) tokens.push(batch.token);
    if (batch.token !== null && deps.clock.monotonic_ms() >= closeAt_ms) return { ended: false, tokens };
  }
}

async function nextBatch(
  reader: RecordReader,
  { budget }: CopyDependencies,
  stop: AbortSignal,
): Promise<RecordBatch | null> {
  stop.throwIfAborted();
  await budget.untilFree(stop);
  return reader.next(stop);
}

/**
 * Closes the partition once every event up to its last reading is a durable re-read request: a restart drops the events
 * up to the reading time of a partition that is done.
 */
async function finish(piece: Piece, readTime: bigint, stop: AbortSignal): Promise<void> {
  const { deps } = piece;
  await deps.stream.untilFlushed(readTime, stop);
  stop.throwIfAborted();
  await closePartition(piece);
}

/** Every document that has changed since the scan began is in the re-read set; the others are copied again. */
async function leave({ table, deps, stop }: PartitionCopy, { reason }: RecordOrderLeftError): Promise<void> {
  await table.leaveRecordOrder(reason);
  table.divideAt(await deps.restarts.startsInIdOrder(table, stop));
  await table.persist();
}

/** A scan that has to begin again this often is left for a copy in `_id` order, which continues after a failover. */
const lossesMax = 3;

/** BadValue, FailedToParse, TypeMismatch, CommandNotSupported, unknown field: the server takes no such read. */
const refusals: ReadonlySet<number | null> = new Set([2, 9, 14, 115, 40_415]);

/** The place was given by another member: it belongs to that one's initial sync. */
const otherSyncCode = 8_132_701;

/** Another member is primary now, whose record numbers are others. */
class OtherRecordsError extends Error {
  override readonly name = 'OtherRecordsError';
}

/** What a piece has read. */
interface RecordBatch {
  /** Those that the task owns. */
  documents: Uint8Array[];
  /** Position after them; null at the end of the collection. */
  token: RecordToken | null;
}

/**
 * Reads one piece of a collection at one time in record order, all of it from the primary of one term. Reopens a lost
 * cursor at the same time, after the last batch.
 */
class RecordReader extends PacedReader {
  #term: string | null = null;
  #places: readonly RecordToken[] = [];
  #after: RecordToken | null = null;
  /** A batch that was read before it was asked for. */
  #first: RawBatch | null = null;

  constructor(
    collection: SyncedCollection,
    private readonly scan: RecordScan,
    deps: CopyDependencies,
    readTime: bigint,
  ) {
    super(collection, deps, readTime);
  }

  /**
   * Finds the place where the piece begins.
   * @throws RecordOrderLeftError when the scan had to begin again too often, or the server refuses it
   */
  async begin(signal: AbortSignal): Promise<void> {
    this.#first = await this.fetch(signal);
  }

  /** The next documents; null at the end of the collection. @throws as `begin`, and OtherRecordsError */
  async next(signal: AbortSignal): Promise<RecordBatch | null> {
    if (this.#first === null && !this.isOpen) return null;
    const batch = this.#first ?? (await this.fetch(signal));
    this.#first = null;
    await this.count(batch, signal);
    if (this.isOpen && batch.recordToken === undefined) throw new RecordOrderLeftError('refused');
    this.#after = batch.recordToken ?? null;
    return {
      documents: batch.documents.filter((document) => this.collection.owns(document, 'document')),
      token: this.#after,
    };
  }

  /** The term is the same before and after the opening, so that its primary has answered. */
  protected async openCursor(signal: AbortSignal): Promise<RawCursor> {
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
    const batchSize = this.batchSize;
    const options = { database, target: readTarget(this.collection), at: this.at, batchSize, after, signal };
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

/** The copy of a collection in record order has to give way to one in `_id` order. */
class RecordOrderLeftError extends Error {
  override readonly name = 'RecordOrderLeftError';

  constructor(readonly reason: CopyOrderReason) {
    super(`the copy leaves record order: ${reason}`);
  }
}
