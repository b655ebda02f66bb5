import type { Document, Timestamp } from 'mongodb';
import { bufferOf, isNamed } from '../bson/scan.js';
import { systemClock, type Clock, type Wait } from '../async/clock.js';
import { highestTime, secondsOf, timeOf } from './cluster-time.js';
import type { NodeClient, RawCursor, Version, CallOptions, RawBatch } from './node-client.js';
import { ResumableCursor } from './reads.js';
import { isAtLeast } from './topology.js';
import { seriesRelease } from './time-series.js';
import { Waits } from './calls-in-flight.js';

export interface ChangeStreamOptions {
  /** The first time to read (inclusive). */
  startAtOperationTime: Timestamp;
  batchDocumentsMax: number;
  signal: AbortSignal;
  /** The whole cluster instead of one database or collection. */
  allChangesForCluster: boolean;
  /** Determines which options the server supports. */
  version: Version;
  /** Database and collection of a stream that does not cover the whole cluster. */
  database?: string;
  collection?: string;
  /** Stages after `$changeStream`, which the server runs. */
  pipeline?: Document[];
  /** On servers that support it: buckets of time series, which are system collections, are shown too. */
  timeSeries?: boolean;
  /** On servers that support it: events above 16 MB arrive in fragments (`splitEvent`) instead of ending the stream. */
  splitLargeEvents?: boolean;
  /** On servers that support it: updates come as the oplog's diff (`rawUpdateDescription`), which shows all places. */
  rawUpdateDescriptions?: boolean;
}

/**
 * Opens a change stream as a plain cursor: the driver does not resume it. From 6.0 on it shows DDL
 * (`showExpandedEvents`); earlier servers refuse that option with 40415.
 * @throws the server's error, for example ChangeStreamHistoryLost (286), also from later batches
 */
export async function openChangeStream(client: NodeClient, options: ChangeStreamOptions): Promise<RawCursor> {
  const command = {
    aggregate: options.allChangesForCluster ? 1 : (options.collection ?? 1),
    pipeline: [changeStreamStage(options), ...(options.pipeline ?? []), ...splitStage(options)],
    // Opening must not scan: a first batch would wait until it is full.
    cursor: { batchSize: 0 },
  };
  const database = options.allChangesForCluster ? 'admin' : (options.database ?? 'admin');
  return client.openCursor(database, command, { signal: options.signal, batchDocumentsMax: options.batchDocumentsMax });
}

function changeStreamStage(options: ChangeStreamOptions): Document {
  const showsDiffs = options.rawUpdateDescriptions === true && showsRawUpdates(options.version);
  return {
    $changeStream: {
      ...(options.allChangesForCluster ? { allChangesForCluster: true } : {}),
      startAtOperationTime: options.startAtOperationTime,
      ...(isAtLeast(options.version, 6, 0) ? { showExpandedEvents: true } : {}),
      ...(options.timeSeries === true && isAtLeast(options.version, seriesRelease, 0)
        ? { showSystemEvents: true }
        : {}),
      ...(showsDiffs ? { showRawUpdateDescription: true } : {}),
    },
  };
}

/** Servers show the oplog's diff from 6.0 on (SERVER-61894), in a router's stream too; earlier ones answer 40415. */
function showsRawUpdates(version: Version): boolean {
  return isAtLeast(version, 6, 0);
}

/** Must be the last stage. */
function splitStage({ splitLargeEvents, version }: ChangeStreamOptions): Document[] {
  return splitLargeEvents === true && splitsLargeEvents(version) ? [{ $changeStreamSplitLargeEvent: {} }] : [];
}

/** Servers split events from 7.0 and 6.0.9 on (manual, `$changeStreamSplitLargeEvent`). */
export function splitsLargeEvents([major, minor, patch]: Version): boolean {
  return major >= 7 || (major === 6 && minor === 0 && patch >= 9);
}

/** In a token, seconds and increment have 8 hexadecimal digits each, after the type byte of a timestamp. */
const timestampMark = '82';
const timeDigits = 16;
/** Precedes the collection's UUID (recorded on 5.0 for every event but dropDatabase). */
const uuidMark = '5A1004';
const uuidDigits = 32;
/** Version, token type and transaction index are between the time and the UUID. */
const uuidSearchFrom = timestampMark.length + timeDigits;

/**
 * The cluster time in a resume token: the stream has delivered everything before it, and possibly not all events at it.
 * @param data the token's `_data`
 * @throws RangeError if Convoy cannot read the token
 */
export function tokenTime(data: string): bigint {
  const digits = data.slice(timestampMark.length, uuidSearchFrom);
  if (!data.startsWith(timestampMark) || !/^[0-9A-Fa-f]{16}$/.test(digits))
    throw new RangeError('A resume token has an unknown form');
  return BigInt(`0x${digits}`);
}

/** The UUID of the event's collection as 32 lower-case hexadecimal digits; null for tokens without one. */
export function tokenUuid(data: string): string | null {
  const mark = data.indexOf(uuidMark, uuidSearchFrom);
  if (mark < 0) return null;
  const uuid = data.slice(mark + uuidMark.length, mark + uuidMark.length + uuidDigits);
  return uuid.length === uuidDigits ? uuid.toLowerCase() : null;
}

/** Bytes before the token's text in its document: the length, then type and name of `_data` and the text's length. */
const dataNameAt = 5;
const dataTextAt = dataNameAt + '_data'.length + 1 + 4;

/**
 * Where the raw bytes of a token's document have the UUID of `tokenUuid`, as 32 hexadecimal digits; null if nowhere.
 * @param start where the document `{_data: …}` begins in `bytes`
 */
export function tokenUuidPlace(bytes: Uint8Array, start: number, end: number): { start: number; end: number } | null {
  if (!isNamed(bytes, start + dataNameAt, '_data')) return null;
  const mark = bufferOf(bytes).indexOf(uuidMark, start + dataTextAt + uuidSearchFrom, 'latin1');
  const uuid = { start: mark + uuidMark.length, end: mark + uuidMark.length + uuidDigits };
  return mark < 0 || uuid.end > end ? null : uuid;
}

/** The cursor of a change stream, which is opened again after a failure, and when the stream stands still. */
export class WatchedStream {
  readonly #cursor: ResumableCursor;
  readonly #watch: StreamWatch;

  /**
   * @param startAt the first time to read
   * @param reopen opens the stream where it continues: behind everything that its reader has received
   */
  constructor(place: StreamPlace, wait: Wait, startAt: bigint, reopen: (signal: AbortSignal) => Promise<RawCursor>) {
    this.#watch = new StreamWatch(place, wait, startAt);
    this.#cursor = new ResumableCursor(reopen);
  }

  /**
   * Fetches the next batch; after a failure, or `close`, the first one of a new cursor.
   * @throws the server's error
   */
  async next(options: CallOptions): Promise<RawBatch> {
    this.#watch.asked();
    const batch = await this.#cursor.next(options);
    if (this.#watch.answered(batch)) await this.#cursor.close();
    return batch;
  }

  /** Closes the cursor on the server, for the next batch to open it anew; never throws. */
  reopenNext(): Promise<void> {
    return this.#cursor.close();
  }

  /** Closes the cursor on the server; never throws. */
  async close(): Promise<void> {
    this.#watch.close();
    await this.#cursor.close();
  }
}

/**
 * A stream that stands still for this long is opened anew. Idle shards write nothing but a no-op every 10 s
 * (`periodicNoopIntervalSecs`), and an election takes about as long.
 */
const standing_ms = 20_000;
/** The same for a stream that is far behind: a server may read much of its oplog before it shows a position. */
const standingBehind_ms = 120_000;
/** Behind the time of its cluster by more than this, a stream counts as far behind. */
const near_seconds = 60;
/** A stream that is not behind by this much does not stand still: its cluster is idle too. */
const behind_seconds = 5;
/** Part of the limit after which a stream that stands still is shown. */
const shown_ratio = 0.6;

/** Where streams show that they stand still, and the clock by which they are judged. */
export interface StreamPlace {
  readonly clock: Pick<Clock, 'monotonic_ms'>;
  readonly waits: Waits;
}

/** A place for streams that nobody watches, as in tests. */
export function ownPlace(): StreamPlace {
  return { clock: systemClock, waits: new Waits() };
}

/**
 * Notices a change stream whose time stands still while that of its cluster goes on. A router waits for ever for a
 * member of a shard that it has asked once, as when that is frozen: the stream returns nothing, though another member
 * leads, and a stream that is opened then shows everything. Each opening in vain doubles the limit: it is no use where
 * a server reads long, or shards are idle and write no no-ops.
 */
export class StreamWatch {
  /** The latest time that the stream has shown. */
  #time: bigint;
  /** The latest time of the cluster that any reply has shown: not every reply shows one. */
  #clusterTime = 0n;
  #limit_ms: number | null = null;
  /** Time that the reader has waited since the stream was opened, or has last shown something. */
  #waited_ms = 0;
  #asked_ms = 0;
  #isShown = false;
  readonly #leave: () => void;

  /**
   * @param wait who reads what, for example `cluster0 router` and `the change stream`
   * @param startAt the first time to read
   */
  constructor(
    private readonly place: StreamPlace,
    private readonly wait: Wait,
    startAt: bigint,
  ) {
    this.#time = startAt;
    this.#leave = place.waits.add(() => (this.#isShown ? [this.wait] : []));
  }

  /** Call it before each batch is asked for. */
  asked(): void {
    this.#asked_ms = this.place.clock.monotonic_ms();
  }

  /**
   * Call it with each batch.
   * @returns whether to open the stream anew, where it continues
   */
  answered(batch: RawBatch): boolean {
    const time = batch.resumeToken === undefined ? 0n : tokenTime(batch.resumeToken);
    this.#clusterTime = highestTime([this.#clusterTime, clusterTime(batch)]);
    const hasMoved = time > this.#time;
    if (hasMoved) this.#time = time;
    const behind = secondsOf(this.#clusterTime) - secondsOf(this.#time);
    const limit_ms = behind > near_seconds ? standingBehind_ms : standing_ms;
    if (batch.documents.length > 0 || hasMoved || behind < behind_seconds) {
      this.#limit_ms = limit_ms;
      this.#waited_ms = 0;
      this.#isShown = false;
      return false;
    }
    this.#limit_ms ??= limit_ms;
    this.#waited_ms += this.place.clock.monotonic_ms() - this.#asked_ms;
    if (this.#waited_ms >= this.#limit_ms * shown_ratio) this.#isShown = true;
    if (this.#waited_ms < this.#limit_ms) return false;
    this.#waited_ms = 0;
    this.#limit_ms *= 2;
    this.place.waits.onReopened(this.wait);
    return true;
  }

  /** The stream is not read any more. */
  close(): void {
    this.#isShown = false;
    this.#leave();
  }
}

/** The latest time that the answering node or its primary knows. */
function clusterTime({ operationTime, primaryTime }: RawBatch): bigint {
  return highestTime([operationTime, primaryTime].flatMap((time) => (time === undefined ? [] : [timeOf(time)])));
}
