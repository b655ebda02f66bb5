import { Binary, type Document, MaxKey, type Timestamp } from 'mongodb';
import { elementType } from '../bson/element-type.js';
import { findValue, type RawValue } from '../bson/scan.js';
import { losslessValue } from '../bson/sent-value.js';
import { classify, CollectionAbsentError } from './failure.js';
import type { CallOptions, NodeClient, RawBatch, RawCursor } from './node-client.js';
import { matchingAll } from './reads.js';

/** The fields of `find` that identify the collection. */
interface ReadTarget {
  find: string | Binary;
  collectionUUID?: Binary;
}

/**
 * Identifies a collection in a read: by UUID for shards, by its name at the time of the read for routers. From 6.0 on,
 * servers refuse a name that has another UUID or none (361, CollectionUUIDMismatch).
 * @param collection its UUID as 32 hexadecimal digits
 */
export function readTarget({
  readBy,
  name,
  uuid,
}: {
  readBy: 'uuid' | 'name' | 'nameOfUuid';
  name: string;
  uuid: string;
}): ReadTarget {
  if (readBy === 'name') return { find: name };
  const binary = new Binary(Buffer.from(uuid, 'hex'), Binary.SUBTYPE_UUID);
  return readBy === 'uuid' ? { find: binary } : { find: name, collectionUUID: binary };
}

interface SnapshotReadOptions extends IdBounds {
  database: string;
  target: ReadTarget;
  /** The one time at which everything is read. */
  at: Timestamp;
  batchSize: number;
  /** Reads only documents that match; absent: all. */
  filter?: Document | undefined;
  signal: AbortSignal;
  /** Server-side limit of the opening in milliseconds. */
  maxTime_ms?: number;
}

/**
 * Reads a range of a collection in `_id` order exactly as it was at a time; the cursor keeps that time.
 * @throws as `openAtTime`, also from the cursor's `next`
 */
export function openSnapshotCursor(client: NodeClient, options: SnapshotReadOptions): Promise<RawCursor> {
  const { database, signal, maxTime_ms } = options;
  const open: OpenFind = (command, call) => openAtTime(client, database, command, call);
  return openIdRange(open, findCommand(options), options, {
    signal,
    ...(maxTime_ms === undefined ? {} : { maxTime_ms }),
  });
}

interface RecordReadOptions extends Pick<SnapshotReadOptions, 'database' | 'target' | 'at' | 'batchSize' | 'signal'> {
  /** Begins after this position, which the same member has given; null: at the first record. */
  after: Document | null;
}

/**
 * Reads a collection in the order of its records exactly as it was at a time. Batches have their position. Works on
 * members only, not through routers (5.0 or later).
 * @throws as `openAtTime`; KeyNotFound (211) when the record of `after` does not exist at that time
 */
export function openRecordCursor(client: NodeClient, options: RecordReadOptions): Promise<RawCursor> {
  const { database, target, at, batchSize, after, signal } = options;
  const command = {
    ...findCommand({ target, at, batchSize }),
    hint: { $natural: 1 },
    $_requestResumeToken: true,
    ...(after === null ? {} : { $_resumeAfter: after }),
  };
  return openAtTime(client, database, command, { signal });
}

/**
 * Opens a cursor at the one time that its read concern names.
 * @throws CollectionAbsentError if the collection did not exist at that time (the server then returns an empty batch
 * without `atClusterTime`), or no longer exists: servers look a UUID up among the current collections; the server's
 * error for times that are not readable (see `classify`)
 */
export async function openAtTime(
  client: NodeClient,
  database: string,
  command: Document,
  options: CallOptions,
): Promise<RawCursor> {
  const cursor = await openPresent(client, database, command, options);
  if (cursor.first.atClusterTime !== undefined) return cursor;
  await cursor.close();
  throw absent(database);
}

/**
 * Opens a cursor on a current collection.
 * @throws CollectionAbsentError if no collection has the UUID any more
 */
export function openPresent(
  client: NodeClient,
  database: string,
  command: Document,
  options: CallOptions,
): Promise<RawCursor> {
  return client.openCursor(database, command, options).catch((error: unknown) => {
    throw classify(error) === 'notFound' ? absent(database, error) : error;
  });
}

function absent(database: string, cause?: unknown): CollectionAbsentError {
  return new CollectionAbsentError(`The collection did not exist in database ${database} at the time of the read`, {
    cause,
  });
}

function findCommand({
  target,
  batchSize,
  at,
  filter,
}: Pick<SnapshotReadOptions, 'target' | 'batchSize' | 'at' | 'filter'>): Document {
  return {
    ...target,
    ...matchingAll(filter),
    batchSize,
    readConcern: { level: 'snapshot', atClusterTime: at },
  };
}

/**
 * `_id`s in index order, from `min` (inclusive) to `max` (exclusive, or MaxKey inclusive); a missing bound means
 * unbounded.
 */
interface IdBounds {
  min?: RawValue;
  max?: RawValue;
}

/** Opens a cursor by a find. */
export type OpenFind = (command: Document, options: CallOptions) => Promise<RawCursor>;

/**
 * Reads a range of a collection in `_id` order. Its bounds are index bounds, so no type is left out as in a filter's
 * comparisons. With `min` alone, servers omit the document whose `_id` is MaxKey (measured on 5.0.7): a second find
 * reads it. That one names the value: where `_id` is the ranged shard key, routers of 8.0.10 find nothing from MaxKey
 * on. Of a clustered collection servers show the document (8.0.10), so that nothing is left to find.
 * @param command a find without sort and bounds
 * @throws as `open`, also from the cursor's `next`
 */
export async function openIdRange(
  open: OpenFind,
  command: Document,
  { min, max }: IdBounds,
  options: CallOptions,
): Promise<RawCursor> {
  const inOrder = { ...command, hint: { _id: 1 }, sort: { _id: 1 } };
  const last: OpenLast = (call) =>
    open(
      { ...inOrder, ...matchingAll(command.filter as Document | undefined, { _id: new MaxKey() }) },
      { ...options, ...call },
    );
  if (min?.type === elementType.maxKey) return last(options);
  const lower = min === undefined || min.type === elementType.minKey ? {} : { min: { _id: losslessValue(min) } };
  const upper = max === undefined || max.type === elementType.maxKey ? {} : { max: { _id: losslessValue(max) } };
  const cursor = await open({ ...inOrder, ...lower, ...upper }, options);
  return 'min' in lower && !('max' in upper) ? new ContinuedCursor(cursor, last) : cursor;
}

type OpenLast = (options: CallOptions) => Promise<RawCursor>;

/** A cursor, followed by another one after its end, unless it has shown the last `_id` of all. */
class ContinuedCursor implements RawCursor {
  readonly first: RawBatch;
  #isWhole = false;

  constructor(
    private cursor: RawCursor,
    private readonly openLast: OpenLast,
  ) {
    this.first = this.#seen(cursor.first);
  }

  get open(): boolean {
    return this.cursor.open || !this.#isWhole;
  }

  async next(options: CallOptions): Promise<RawBatch> {
    if (this.cursor.open || this.#isWhole) return this.#seen(await this.cursor.next(options));
    this.cursor = await this.openLast(options);
    this.#isWhole = true;
    return this.cursor.first;
  }

  async close(): Promise<void> {
    this.#isWhole = true;
    await this.cursor.close();
  }

  #seen(batch: RawBatch): RawBatch {
    const last = batch.documents.at(-1);
    if (last !== undefined && findValue(last, '_id')?.type === elementType.maxKey) this.#isWhole = true;
    return batch;
  }
}
