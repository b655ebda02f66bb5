import { mayReadLater } from '../cluster/failure.js';
import type { RecordScan, RecordToken } from '../store/record-scan.js';
import { untilCopied } from './attempts.js';
import type { CopyDependencies, PartitionCopy } from './copy-dependencies.js';
import { abandon, beginReading, closePartition, refuseUnfenced } from './copy-partition.js';
import { PartitionWriter } from './partition-writer.js';
import { RecordOrderLeftError } from './record-order-left.js';
import { OtherRecordsError, type RecordBatch, RecordReader } from './record-reader.js';

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
