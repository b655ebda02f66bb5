import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { elementType } from '../bson/element-type.js';
import { containsString, idClass } from '../bson/id-class.js';
import { isLossless } from '../bson/lossless.js';
import type { RawValue } from '../bson/scan.js';
import { highestTime } from '../cluster/cluster-time.js';
import { classify } from '../cluster/failure.js';
import type { Partition, PartitionTable } from '../store/partition-table.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import { untilCopied } from './attempts.js';
import type { CopyDependencies } from './copy-dependencies.js';
import { PartitionReader } from './partition-reader.js';
import { idOf, PartitionWriter } from './partition-writer.js';

/**
 * Copies one partition at one source time, closing it early when it takes long: the rest then becomes a waiting
 * partition of its own. A time that has become too old, or a changed catalog, starts it anew.
 * @param stop ends the copying at the next batch, leaving the partition dirty
 * @param hard ends writes in flight
 */
export async function copyPartition(
  table: PartitionTable,
  partition: Partition,
  deps: CopyDependencies,
  stop: AbortSignal,
  hard: AbortSignal,
): Promise<void> {
  const copying = {
    attempt: () =>
      attemptCopy(table, partition, deps, stop, hard).catch((error: unknown) => {
        if (!partition.closing) abandon(table, partition, deps);
        throw error;
      }),
    // Whether the closing write took effect is unknown: what was held must not remove documents of a closed partition.
    passes: (error: unknown) => !partition.closing && ['snapshotTooOld', 'catalogChanged'].includes(classify(error)),
    tooMany: () => tooManyAttempts(table),
  };
  await untilCopied(copying, deps, stop);
}

/** One attempt to copy a partition. */
interface Attempt {
  table: PartitionTable;
  partition: Partition;
  deps: CopyDependencies;
  /** The partition may hold documents of an earlier attempt. */
  wasDirty: boolean;
  reader: PartitionReader;
  writer: PartitionWriter;
  /** Resolves once the partition is durably dirty: nothing is written before. */
  marked: Promise<void>;
  stop: AbortSignal;
  hard: AbortSignal;
}

async function attemptCopy(
  table: PartitionTable,
  partition: Partition,
  deps: CopyDependencies,
  stop: AbortSignal,
  hard: AbortSignal,
): Promise<void> {
  const wasDirty = partition.dirty;
  const readTime = await beginReading(table, partition, deps, stop);
  if (wasDirty) await deps.untilFlushed(readTime, stop);
  partition.dirty = true;
  const marked = table.persist();
  // Waited for below, before the first write, while the first documents are on their way.
  marked.catch(() => undefined);

  const reader = new PartitionReader(table.collection, partition, deps, readTime);
  const writer = new PartitionWriter(table.collection, partition, wasDirty, deps);
  try {
    const rest = await pump({ table, partition, deps, wasDirty, reader, writer, marked, stop, hard });
    if (table.collection.readBy !== 'uuid') await deps.untilNamed(table.collection, stop);
    partition.readEnd = reader.readEnd;
    if (rest !== null) rest.readEnd = reader.readEnd;
  } finally {
    await reader.close();
    await writer.finish().catch(refuseUnfenced);
  }
  await closePartition(table, partition, deps);
}

/**
 * What became of the writes of a failed attempt does not matter, but that they are over does: those that were given up are not,
 * and a copy of one might be carried out over what comes next. The next owner of the share fences them.
 * @throws ConvoyError with which a write was given up
 */
function refuseUnfenced(error: unknown): void {
  if (error instanceof ConvoyError && error.error !== 'writeRefused') throw error;
}

/**
 * Sets the reading time: at least every event of the range that was dropped, every earlier reading, and the last change of
 * what the collection is called. Later events are held from now on, and the reading waits until everything up to its time
 * has been routed.
 */
export async function beginReading(
  table: PartitionTable,
  partition: Partition,
  deps: CopyDependencies,
  stop: AbortSignal,
): Promise<bigint> {
  const readTime = highestTime([
    deps.position(),
    partition.dropped,
    partition.readTime ?? 0n,
    table.collection.notBefore,
  ]);
  partition.readTime = readTime;
  partition.bytes = 0;
  partition.documents = 0;
  partition.state = 'starting';
  await deps.untilRouted(readTime, stop);
  partition.state = 'copying';
  return readTime;
}

/** The attempt is over without result: the partition waits again, and what it held removes documents now. */
export function abandon(table: PartitionTable, partition: Partition, deps: CopyDependencies): void {
  partition.state = 'waiting';
  partition.closing = false;
  const buffered = partition.buffered;
  partition.buffered = [];
  deps.release(table, buffered);
}

/** Reads and writes until the partition ends or its time is up. Returns the rest that was split off, if any. */
async function pump(attempt: Attempt): Promise<Partition | null> {
  const { table, deps, reader, writer, marked, stop, hard } = attempt;
  const closeAt_ms = deps.clock.monotonic_ms() + deps.partition_seconds * 1000;
  let lastSent: Uint8Array | null = null;
  for (;;) {
    stop.throwIfAborted();
    await deps.budget.untilFree(stop);
    const documents = await reader.next(stop);
    await marked;
    if (documents === null) break;
    const first = documents[0];
    const late = deps.clock.monotonic_ms() >= closeAt_ms;
    if (
      late &&
      first !== undefined &&
      lastSent !== null &&
      differ(lastSent, first) &&
      isBoundary(idOf(first), table.collection)
    ) {
      await writer.finish();
      return splitOff(attempt, idOf(first));
    }
    await writer.write(documents, hard);
    lastSent = documents.at(-1) ?? lastSent;
  }
  await writer.finish();
  return null;
}

/** Makes the rest a partition of its own; events of its range that were held go to it before anybody can start it. */
function splitOff({ table, partition, wasDirty, deps }: Attempt, boundary: RawValue): Partition {
  const rest = table.splitAt(partition, boundary, wasDirty);
  const buffered = partition.buffered;
  partition.buffered = [];
  deps.release(table, buffered);
  return rest;
}

/** A bound is sent to servers, everybody has to find the same `_id`s below it, and the range before it does not end with MaxKey. */
function isBoundary(id: RawValue, { collated }: SyncedCollection): boolean {
  return isLossless(id) && id.type !== elementType.maxKey && !(collated && containsString(id));
}

function differ(a: Uint8Array, b: Uint8Array): boolean {
  return idClass(idOf(a), false) !== idClass(idOf(b), false);
}

/** Everything is acknowledged: one durable write makes the partition done (and its rest waiting), then its events go on. */
export async function closePartition(
  table: PartitionTable,
  partition: Partition,
  deps: CopyDependencies,
): Promise<void> {
  partition.closing = true;
  await table.persist();
  partition.state = 'done';
  partition.dirty = false;
  partition.closing = false;
  const buffered = partition.buffered;
  partition.buffered = [];
  deps.release(table, buffered);
}

function tooManyAttempts(table: PartitionTable): ConvoyError {
  const { database, name, collated } = table.collection;
  const otherwise = collated
    ? '; under its collation, _ids with strings are read all at once'
    : ' or lower partition_seconds';
  return new ConvoyError(
    'retriesExhausted',
    `A part of ${database}.${name} could not be read at one time in many attempts. Enlarge minSnapshotHistoryWindowInSeconds on the source${otherwise}.`,
  );
}
