import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { shownName } from '../cluster/time-series.js';
import type { Clock } from '../async/clock.js';
import { idClass, mayBound } from '../bson/id.js';
import { ownedValue, type RawValue } from '../bson/scan.js';
import { highestTime } from '../cluster/cluster-time.js';
import { mayReadLater } from '../cluster/failure.js';
import type { PartitionTable } from '../store/partition-table.js';
import type { PartitionCopy } from './copier.js';
import { PartitionReader } from './partition-reader.js';
import { idOf, PartitionWriter } from './partition-writer.js';

/**
 * Copies one partition at one source time. After `partition_seconds` it ends the partition early, and the rest becomes
 * a waiting partition. When the time has become too old, or the catalog has changed, it starts again.
 */
export async function copyPartition(copy: PartitionCopy): Promise<void> {
  const { table, partition } = copy;
  await untilCopied(copy, {
    attempt: () =>
      attemptCopy(copy).catch((error: unknown) => {
        if (!partition.closing) abandon(copy);
        throw error;
      }),
    // The outcome of the closing write is unknown: buffered events must not remove documents of a closed partition.
    passes: (error: unknown) => !partition.closing && mayReadLater(error),
    tooMany: () => tooManyAttempts(table),
  });
}

/**
 * The copy of a partition fails after both bounds. The time is long because a renamed collection cannot be read at
 * earlier times, and the DDL journal shows the rename only once there is a leader.
 */
const attemptsMax = 10;
const attemptsFor_ms = 10 * 60_000;
/** Doubled after each attempt. The readable time of an idle shard advances with its no-ops, every 10 s by default. */
const pauseMin_ms = 250;
const pauseMax_ms = 10_000;

/** How to copy one partition. */
interface Copying {
  /** Copies it once. A failed attempt leaves the partition waiting. */
  attempt: () => Promise<void>;
  /** Whether another attempt may succeed after this failure. */
  passes: (error: unknown) => boolean;
  tooMany: () => Error;
}

/**
 * Copies a partition in as many attempts as needed. Each attempt starts once the stream is not far behind.
 * @throws the failure of `attempt` that another attempt would meet again; `tooMany` after the last attempt
 */
export async function untilCopied(
  { deps, stop }: Pick<PartitionCopy, 'deps' | 'stop'>,
  { attempt, passes, tooMany }: Copying,
): Promise<void> {
  const attempts = new Attempts(deps.clock);
  for (;;) {
    await deps.stream.untilNear(stop);
    try {
      await attempt();
      return;
    } catch (error) {
      if (!passes(error)) throw error;
      if (!(await attempts.another(stop))) throw tooMany();
    }
  }
}

class Attempts {
  #made = 0;
  readonly #giveUpAt_ms: number;

  constructor(private readonly clock: Clock) {
    this.#giveUpAt_ms = clock.monotonic_ms() + attemptsFor_ms;
  }

  /** Waits after a failed attempt until the next one may start. Returns false after the last attempt. */
  async another(stop: AbortSignal): Promise<boolean> {
    this.#made += 1;
    if (this.#made >= attemptsMax && this.clock.monotonic_ms() >= this.#giveUpAt_ms) return false;
    await this.clock.sleep(Math.min(pauseMax_ms, pauseMin_ms * 2 ** (this.#made - 1)), stop);
    return true;
  }
}

/** One attempt to copy a partition. */
interface Attempt extends PartitionCopy {
  /** The partition may hold documents of an earlier attempt. */
  wasDirty: boolean;
  reader: PartitionReader;
  writer: PartitionWriter;
  /** Resolves once the partition is durably dirty; nothing is written before. */
  marked: Promise<void>;
}

async function attemptCopy(copy: PartitionCopy): Promise<void> {
  const { table, partition, deps, stop } = copy;
  const wasDirty = partition.dirty;
  const readTime = await beginReading(copy);
  if (wasDirty) await deps.stream.untilFlushed(readTime, stop);
  partition.markDirty();
  const marked = table.persist();
  // `pump` awaits it before the first write, so that the first read runs meanwhile.
  marked.catch(() => undefined);

  const reader = new PartitionReader(table.collection, partition, deps, readTime);
  const writer = new PartitionWriter(table.collection, partition, wasDirty, deps);
  try {
    await pump({ ...copy, wasDirty, reader, writer, marked });
    if (table.collection.readBy !== 'uuid') await deps.stream.untilNamed(table.collection, stop);
    partition.endReading(reader.readEnd);
  } finally {
    await reader.close();
    await writer.finish().catch(refuseUnfenced);
  }
  await closePartition(copy);
}

/**
 * Sets the read time: not before any dropped event of the range, any earlier read, or the last rename of the
 * collection. The dispatcher buffers later events from now on. Resolves once everything up to the read time is routed.
 */
export async function beginReading({ table, partition, deps, stop }: Omit<PartitionCopy, 'hard'>): Promise<bigint> {
  const readTime = highestTime([
    deps.stream.position,
    partition.dropped,
    partition.readTime ?? 0n,
    table.collection.notBefore,
  ]);
  partition.start(readTime);
  await deps.stream.untilRouted(readTime, stop);
  partition.startCopying();
  return readTime;
}

/** Reads and writes until the partition ends, or its time is up: then the rest becomes a partition of its own. */
async function pump(attempt: Attempt): Promise<void> {
  const { table, deps, reader, writer, marked, stop, hard } = attempt;
  const closeAt_ms = deps.clock.monotonic_ms() + deps.partition_seconds * 1000;
  let lastSent: RawValue | null = null;
  for (;;) {
    stop.throwIfAborted();
    await deps.budget.untilFree(stop);
    const documents = await reader.next(stop);
    await marked;
    if (documents === null) break;
    const first = documents[0];
    const isLate = deps.clock.monotonic_ms() >= closeAt_ms;
    if (isLate && first !== undefined && maySplitBefore(first, lastSent, table)) {
      await writer.finish();
      splitOff(attempt, idOf(first));
      return;
    }
    const last = documents.at(-1);
    if (last !== undefined) lastSent = ownedValue(idOf(last));
    await writer.write(documents, hard);
  }
  await writer.finish();
}

/**
 * Whether a partition may end before a document: not before its first one, not between documents of one id class, and
 * only at an `_id` that may bound partitions.
 */
function maySplitBefore(first: Uint8Array, lastSent: RawValue | null, { collection }: PartitionTable): boolean {
  const id = idOf(first);
  return lastSent !== null && differ(lastSent, id) && mayBound(id, collection.collated);
}

/** Makes the rest a partition and dispatches the buffered events again, before a reader can start the rest. */
function splitOff({ table, partition, wasDirty, deps }: Attempt, boundary: RawValue): void {
  table.splitAt(partition, boundary, wasDirty);
  deps.stream.release(table, partition.takeBuffered());
}

function differ(a: RawValue, b: RawValue): boolean {
  return idClass(a, false) !== idClass(b, false);
}

/** Closes a partition whose writes are all acknowledged: one durable write makes it done and its rest waiting. */
export async function closePartition({ table, partition, deps }: PartitionCopy): Promise<void> {
  partition.close();
  await table.persist();
  deps.stream.release(table, partition.finish());
}

/** Ends an attempt without result: the partition waits again, and its buffered events remove their documents. */
export function abandon({ table, partition, deps }: PartitionCopy): void {
  deps.stream.release(table, partition.abandon());
}

/**
 * The outcome of a failed attempt's writes does not matter, only their completion. An unanswered write is not complete:
 * the server may still apply it over later writes. The next owner of the task fences it.
 * @throws ConvoyError of an unanswered write
 */
export function refuseUnfenced(error: unknown): void {
  if (error instanceof ConvoyError && error.error !== 'writeRefused') throw error;
}

function tooManyAttempts(table: PartitionTable): ConvoyError {
  const { database, name, collated } = table.collection;
  const otherwise = collated
    ? '. Under its collation, Convoy reads all _ids with strings in one partition'
    : ' or lower partition_seconds';
  return new ConvoyError(
    'retriesExhausted',
    `A partition of ${shownName({ database, name })} could not be read at one time in many attempts. ` +
      `Raise minSnapshotHistoryWindowInSeconds on the source${otherwise}.`,
  );
}
