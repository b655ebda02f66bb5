import type { Document, Timestamp } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Retrying } from '../async/retry.js';
import { DocumentBuilder } from '../bson/build.js';
import { elementsOf, findElement, rawValue, readDocument, readNumber } from '../bson/scan.js';
import {
  openChangeStream,
  ownPlace,
  splitsLargeEvents,
  type StreamPlace,
  tokenTime,
  WatchedStream,
} from '../cluster/change-stream.js';
import { highestTime, timeOf, timestampOf } from '../cluster/cluster-time.js';
import { classify, failureName, isEventTooLarge } from '../cluster/failure.js';
import type { ClusterClient, NodeClient, RawBatch, RawCursor } from '../cluster/node-client.js';
import { historyLost } from '../cluster/oplog-window.js';
import { BatchSize } from '../cluster/reads.js';
import type { StreamPatience } from '../store/change-event.js';

/** How long the server waits for events before it returns an empty batch with the token of its present time. */
const awaitData_ms = 200;
/** The same while all tasks are idle. */
const idleAwaitData_ms = 1000;
/** The same until the stream has passed its start: the copy waits for its first position, and no event need come. */
const awaitStart_ms = 10;
/** The same while a commit waits for the shard, which has no writes any more. */
const awaitCommit_ms = 50;

/**
 * Far more than most events have. What is left must fit into 16 MB beside an `_id`: an event has that in its key, and
 * its token has it with two digits for each byte, as has the token of the reply.
 */
const largePartBytes = 1024 * 1024;
/** Removes the large parts of events; the documents of such events are re-read. */
const withoutLargeParts = [
  {
    $addFields: Object.fromEntries(
      ['fullDocument', 'updateDescription', 'rawUpdateDescription'].map((part) => [part, unlessLarge(`$${part}`)]),
    ),
  },
];

/** One step of the stream: its next events, in order. */
export interface StreamStep {
  events: readonly Uint8Array[];
  /** No later step has an event below this time (the token's time is exclusive). */
  readBelow: bigint;
  /** The source's operation time, of the reply or of a primary that is ahead of it; 0 when neither is known. */
  sourceTime: bigint;
  /** The cursor was reopened: events at the time of the restart come a second time. */
  reopened: boolean;
}

/**
 * Reads one shard's change stream. Reopens a lost cursor, and one that stands still, at the time below which everything
 * was returned.
 */
export class ChangeStreamReader {
  readonly #cursor: WatchedStream;
  /** Replies of 16 MB, which a server sends where it may, would fill the memory with their parts. */
  readonly #size = new BatchSize(0);
  #readBelow: bigint;
  #fragments = new EventFragments();
  #wasOpen = false;
  #reopened = false;
  /** Set while the reader skips the large parts of an event: up to which time, null until the first event. */
  #passing: { until: bigint | null } | null = null;

  /** @param startAt the first time to read */
  constructor(
    private readonly client: NodeClient,
    private readonly version: ClusterClient['version'],
    private readonly retrying: Retrying,
    private readonly startAt: bigint,
    private readonly patience: StreamPatience,
    place: StreamPlace = ownPlace(),
  ) {
    this.#readBelow = startAt;
    const wait = { from: client.label, what: 'the change stream' };
    this.#cursor = new WatchedStream(place, wait, startAt, (signal) => this.#open(signal));
  }

  /** @throws ConvoyError `oplogHistoryLost` when the oplog no longer reaches back to the time of the restart */
  async next(signal: AbortSignal): Promise<StreamStep> {
    const batch = await this.retrying('read the change stream', () => this.#read(signal), signal);
    if (batch.resumeToken !== undefined) {
      const time = tokenTime(batch.resumeToken);
      if (time > this.#readBelow) this.#readBelow = time;
    }
    await this.#passLargeEvent(batch.documents.length);
    const sourceTime = highestTime(known(batch.operationTime, batch.primaryTime).map(timeOf));
    const reopened = this.#reopened;
    this.#reopened = false;
    const events = splitsLargeEvents(this.version) ? this.#fragments.assembled(batch.documents) : batch.documents;
    return { events, readBelow: this.#readBelow, sourceTime, reopened };
  }

  async close(): Promise<void> {
    await this.#cursor.close();
  }

  async #read(signal: AbortSignal): Promise<RawBatch> {
    try {
      const batchDocumentsMax = this.#size.documents;
      const batch = await this.#cursor.next({ signal, maxTime_ms: this.#await_ms(), batchDocumentsMax });
      this.#size.received(batch);
      return batch;
    } catch (error) {
      if (classify(error) === 'historyLost') throw await historyLost([this.client], this.#readBelow, signal);
      if (!isEventTooLarge(error)) throw error;
      if (this.#passing !== null) throw await unreadableEvent(this.client, this.#readBelow, error, signal);
      this.#passing = { until: null };
      return this.#cursor.next({ signal });
    }
  }

  #await_ms(): number {
    if (this.#readBelow <= this.startAt) return awaitStart_ms;
    if (this.patience.isAwaited()) return awaitCommit_ms;
    return this.patience.isIdle() ? idleAwaitData_ms : awaitData_ms;
  }

  /** Requests whole events again once the stream is past the batch with the large event. */
  async #passLargeEvent(events: number): Promise<void> {
    if (this.#passing === null) return;
    if (this.#passing.until === null) {
      if (events > 0) this.#passing.until = this.#readBelow;
    } else if (this.#readBelow > this.#passing.until) {
      this.#passing = null;
      await this.#cursor.reopenNext();
    }
  }

  async #open(signal: AbortSignal): Promise<RawCursor> {
    const startAtOperationTime = timestampOf(this.#readBelow);
    const cursor = await openChangeStream(this.client, {
      startAtOperationTime,
      batchDocumentsMax: this.#size.documents,
      signal,
      allChangesForCluster: true,
      version: this.version,
      splitLargeEvents: true,
      rawUpdateDescriptions: true,
      timeSeries: true,
      ...(this.#passing === null ? {} : { pipeline: withoutLargeParts }),
    });
    this.#fragments = new EventFragments();
    this.#reopened = this.#wasOpen;
    this.#wasOpen = true;
    return cursor;
  }
}

/** A member that gets nothing shows its own time: what it is behind shows only beside the primary's. */
function known(...times: readonly (Timestamp | undefined)[]): Timestamp[] {
  return times.filter((time) => time !== undefined);
}

function unlessLarge(part: string): Document {
  return { $cond: [{ $gt: [{ $bsonSize: part }, largePartBytes] }, '$$REMOVE', part] };
}

/** The field that marks a document as one part of an event. */
const splitField = 'splitEvent';
const tokenField = '_id';

/**
 * Assembles events that `$changeStreamSplitLargeEvent` has split: the fields of such an event are in several
 * consecutive documents, which may come in several batches.
 */
class EventFragments {
  #parts: Uint8Array[] = [];

  /** The events of a batch, assembled ones included. An incomplete event waits for the next batch. */
  assembled(documents: readonly Uint8Array[]): readonly Uint8Array[] {
    const isWhole =
      this.#parts.length === 0 && documents.every((document) => findElement(document, splitField) === null);
    if (isWhole) return documents;
    return documents.flatMap((document) => this.#taken(document) ?? []);
  }

  #taken(document: Uint8Array): Uint8Array | null {
    const split = findElement(document, splitField);
    if (split === null) return document;
    const { fragment, of } = placeOf(readDocument(document, split));
    if (fragment !== this.#parts.length + 1) throw new RangeError('The parts of a large change event are out of order');
    // A view would keep the whole reply in memory.
    this.#parts.push(Buffer.from(document));
    if (fragment < of) return null;
    const whole = joined(this.#parts);
    this.#parts = [];
    return whole;
  }
}

function placeOf(split: Uint8Array): { fragment: number; of: number } {
  const [fragment, of] = ['fragment', 'of'].map((name) => findElement(split, name));
  if (fragment === null || fragment === undefined || of === null || of === undefined)
    throw new RangeError('A part of a change event lacks its number');
  return { fragment: readNumber(split, fragment), of: readNumber(split, of) };
}

/** One event with the token of the first part: all parts have the same time and collection. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const builder = new DocumentBuilder(parts.reduce((bytes, part) => bytes + part.length, 0));
  for (const [index, part] of parts.entries()) {
    for (const element of elementsOf(part)) {
      if (element.name !== splitField && (index === 0 || element.name !== tokenField))
        builder.raw(element.name, rawValue(part, element));
    }
  }
  return builder.finish();
}

/** Entries of the oplog below this cannot be the one: an event repeats an `_id` six times at most. */
const entryBytesMin = 2 ** 20;

/**
 * The failure to end with if a change fits into no event, even without its document: every event has the `_id` in its
 * token, twice as long, and once more in its key. It names collection and size, if the oplog may be read.
 * @param client of the shard itself: routers do not show the oplogs of shards
 * @param from everything before this time was read
 */
async function unreadableEvent(
  client: NodeClient,
  from: bigint,
  cause: unknown,
  signal: AbortSignal,
): Promise<ConvoyError> {
  const found = await findEntry(client, from, signal).catch(() => null);
  signal.throwIfAborted();
  const what =
    found === null
      ? `The change stream of ${client.label} has a change that fits into no reply (${failureName(cause)}).`
      : `A change of ${found.bytes} bytes in ${found.namespace} fits into no reply (${failureName(cause)}).`;
  return new ConvoyError(
    'documentTooLarge',
    `${what} Its _id is too long: events can show one of about 3 MB. Exclude the collection, or shorten such _ids ` +
      'before you start again.',
    { cause },
  );
}

async function findEntry(
  client: NodeClient,
  from: bigint,
  signal: AbortSignal,
): Promise<{ namespace: string; bytes: number } | null> {
  const pipeline = [
    { $match: { ts: { $gte: timestampOf(from) } } },
    { $project: { ns: 1, bytes: { $bsonSize: '$$ROOT' } } },
    { $match: { bytes: { $gt: entryBytesMin } } },
    { $limit: 1 },
  ];
  const reply = await client.command('local', { aggregate: 'oplog.rs', pipeline, cursor: {} }, { signal });
  const entry = (reply.cursor as { firstBatch: Document[] }).firstBatch[0];
  return entry === undefined ? null : { namespace: String(entry.ns), bytes: Number(entry.bytes) };
}
