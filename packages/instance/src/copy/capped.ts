import { Buffer } from 'node:buffer';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { highestTime, timeOf, timestampOf } from '../cluster/cluster-time.js';
import type { RawCursor } from '../cluster/door.js';
import { classify } from '../cluster/failure.js';
import type { ChangeEvent } from '../store/change-event.js';
import type { Partition, PartitionTable } from '../store/partition-table.js';
import { writeRefused } from '../store/write-refused.js';
import { BatchSize } from './batch-size.js';
import type { CopyContext } from './copy-context.js';
import { abandon, beginReading, closePartition } from './copy-partition.js';
import { idOf } from './partition-writer.js';

/** A collection that overtakes its reader so often is written faster than it can be copied. */
const attemptsMax = 10;

/**
 * Copies a capped collection, which servers before 8.0 cannot read at one time: in natural order, one insert in flight.
 * What is copied is a prefix of the insertion order, so that the held inserts up to the last copied document are in it
 * already and those after it go on in order. An attempt that was broken off starts with an empty collection.
 * @throws ConvoyError `cappedCollectionBusy` when its writers overwrite what is being read again and again
 */
export async function copyCapped(
  table: PartitionTable,
  partition: Partition,
  context: CopyContext,
  stop: AbortSignal,
  hard: AbortSignal,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    await context.untilReady(stop);
    try {
      await context.retrying('copy a capped collection', () => attemptCapped(table, partition, context, stop, hard), stop);
      return;
    } catch (error) {
      const kind = classify(error);
      if (kind !== 'historyLost' && kind !== 'catalogChanged') throw error;
      if (attempt >= attemptsMax) throw new ConvoyError('cappedCollectionBusy');
    }
  }
}

async function attemptCapped(
  table: PartitionTable,
  partition: Partition,
  context: CopyContext,
  stop: AbortSignal,
  hard: AbortSignal,
): Promise<void> {
  try {
    const begin = await beginReading(partition, context, stop);
    if (partition.dirty) await context.recreate(table.collection.uuid, stop);
    partition.dirty = true;
    await table.persist();
    const { last, end } = await copyInOrder(table, partition, context, begin, stop, hard);
    partition.readEnd = end;
    await context.untilRouted(end, stop);
    dropCopied(partition, last, context);
    await closePartition(table, partition, context);
  } catch (error) {
    if (!partition.closing) abandon(table, partition, context);
    throw error;
  }
}

/** Returns the last copied document's `_id` bytes and the shard's operation time at the end. */
async function copyInOrder(
  table: PartitionTable,
  partition: Partition,
  context: CopyContext,
  begin: bigint,
  stop: AbortSignal,
  hard: AbortSignal,
): Promise<{ last: Buffer | null; end: bigint }> {
  const size = new BatchSize(table.collection.documentBytes ?? 0);
  const cursor = await context.retrying('read a capped collection', () => open(table, context, begin, size.documents, stop), stop);
  let last: Buffer | null = null;
  let end = begin;
  try {
    for (let batch = cursor.first; ; batch = await cursor.next({ signal: stop, batchDocumentsMax: size.documents })) {
      size.received(batch);
      if (batch.operationTime !== undefined) end = highestTime([end, timeOf(batch.operationTime)]);
      await insertInOrder(table, batch.documents, context, hard);
      partition.bytes += batch.bytes;
      partition.documents += batch.documents.length;
      const final = batch.documents.at(-1);
      if (final !== undefined) last = Buffer.from(idOf(final).bytes);
      if (!cursor.open) return { last, end };
    }
  } finally {
    await cursor.close();
  }
}

function open(table: PartitionTable, context: CopyContext, begin: bigint, batchSize: number, signal: AbortSignal): Promise<RawCursor> {
  const { database, name } = table.collection;
  const command = {
    find: name,
    sort: { $natural: 1 },
    batchSize,
    readConcern: { level: 'majority', afterClusterTime: timestampOf(begin) },
  };
  return context.shard.openCursor(database, command, { signal });
}

async function insertInOrder(
  table: PartitionTable,
  documents: readonly Uint8Array[],
  context: CopyContext,
  hard: AbortSignal,
): Promise<void> {
  if (documents.length === 0) return;
  const { database, name } = table.collection;
  const write = { database, collection: name, kind: 'insert' as const, statements: documents, ordered: true };
  const outcome = await context.writer.write(write, hard);
  const failure = outcome.failures[0];
  if (failure !== undefined) throw writeRefused(table.collection, failure.code);
}

/** Takes the inserts that the copy includes out of the held events; all of them have been routed by now. */
function dropCopied(partition: Partition, last: Buffer | null, context: CopyContext): void {
  if (last === null) return;
  const included = partition.held.findLastIndex((event) => event.operation === 'insert' && last.equals(event.id.bytes));
  const isCopied = (event: ChangeEvent, index: number): boolean => index <= included && event.operation === 'insert';
  context.discard(partition.held.filter(isCopied));
  partition.held = partition.held.filter((event, index) => !isCopied(event, index));
}
