import type { Document } from 'mongodb';
import { openChangeStream, splitsLargeEvents, tokenTime } from '../cluster/change-stream.js';
import { timeOf, timestampOf } from '../cluster/cluster-time.js';
import type { ClusterClient, NodeClient, RawBatch, RawCursor } from '../cluster/node-client.js';
import { classify, isEventTooLarge } from '../cluster/failure.js';
import { historyLost } from '../cluster/history-lost.js';
import type { Retrying } from '../cluster/retry.js';
import { EventFragments } from './event-fragments.js';

/** How long the server waits for events before it answers with an empty batch and the token of its present time. */
const awaitData_ms = 200;
/** The same while no share has anything to do: nobody waits for the token. */
const idleAwaitData_ms = 1000;
/** The same until the stream has passed its start: nothing is copied before it has said where it is. */
const awaitStart_ms = 100;
/** The same while a commit waits for the shard, which nobody writes to any more. */
const awaitCommit_ms = 50;

/** Who waits for the tokens of a stream without events. */
export interface StreamPatience {
  /** A commit does. */
  isAwaited(): boolean;
  /** Nobody does: no share has had anything to do for long. */
  isIdle(): boolean;
}
/** More events than one 16 MB reply of small documents holds are never asked for. */
const batchDocumentsMax = 10_000;
/** Far more than other events have, and less than half of 16 MB. */
const largePartBytes = 4 * 1024 * 1024;
/** Leaves out what makes events large; keys of events without it are read anew. */
const withoutLargeParts = [
  { $addFields: { fullDocument: unlessLarge('$fullDocument'), updateDescription: unlessLarge('$updateDescription') } },
];

/** One step of the stream: events in order, and the time up to which nothing more can come. */
export interface StreamStep {
  events: readonly Uint8Array[];
  /** Everything below has been read (the token's time is exclusive). */
  readBelow: bigint;
  /** The source's own time when it answered; 0 when it did not say. */
  sourceTime: bigint;
  /** The cursor was lost and opened again: events at the time where it goes on come a second time. */
  reopened: boolean;
}

/**
 * One shard's change stream with a cursor of its own, resumed by time: after a lost cursor it goes on where
 * everything before was handed out.
 */
export class ChangeStreamReader {
  #cursor: RawCursor | null = null;
  #readBelow: bigint;
  #fragments = new EventFragments();
  #wasOpen = false;
  #reopened = false;
  /** Set while an event that is too large is passed: up to which time it goes on, null until an event was seen. */
  #passing: { until: bigint | null } | null = null;

  /** @param startAt the first time to be read */
  constructor(
    private readonly client: NodeClient,
    private readonly version: ClusterClient['version'],
    private readonly retrying: Retrying,
    private readonly startAt: bigint,
    private readonly patience: StreamPatience,
  ) {
    this.#readBelow = startAt;
  }

  /**
   * Waits for the next step.
   * @throws ConvoyError `oplogHistoryLost` when the oplog no longer reaches back to where the stream has to go on
   */
  async next(signal: AbortSignal): Promise<StreamStep> {
    const batch = await this.retrying('read the change stream', () => this.#read(signal), signal);
    if (batch.resumeToken !== undefined) {
      const time = tokenTime(batch.resumeToken);
      if (time > this.#readBelow) this.#readBelow = time;
    }
    await this.#passLargeEvent(batch.documents.length);
    const sourceTime = batch.operationTime === undefined ? 0n : timeOf(batch.operationTime);
    const reopened = this.#reopened;
    this.#reopened = false;
    const events = splitsLargeEvents(this.version) ? this.#fragments.assembled(batch.documents) : batch.documents;
    return { events, readBelow: this.#readBelow, sourceTime, reopened };
  }

  async close(): Promise<void> {
    const cursor = this.#cursor;
    this.#cursor = null;
    await cursor?.close();
  }

  async #read(signal: AbortSignal): Promise<RawBatch> {
    try {
      if (this.#cursor === null) return await this.#open(signal);
      return await this.#cursor.next({ signal, maxTime_ms: this.#await_ms() });
    } catch (error) {
      await this.close();
      if (classify(error) === 'historyLost') throw await historyLost([this.client], this.#readBelow, signal);
      if (!isEventTooLarge(error) || this.#passing !== null) throw error;
      this.#passing = { until: null };
      return this.#open(signal);
    }
  }

  #await_ms(): number {
    if (this.#readBelow <= this.startAt) return awaitStart_ms;
    if (this.patience.isAwaited()) return awaitCommit_ms;
    return this.patience.isIdle() ? idleAwaitData_ms : awaitData_ms;
  }

  /** Documents are asked for again once the stream is beyond the time of the batch that held the large event. */
  async #passLargeEvent(events: number): Promise<void> {
    if (this.#passing === null) return;
    if (this.#passing.until === null) {
      if (events > 0) this.#passing.until = this.#readBelow;
    } else if (this.#readBelow > this.#passing.until) {
      this.#passing = null;
      await this.close();
    }
  }

  async #open(signal: AbortSignal): Promise<RawBatch> {
    const startAtOperationTime = timestampOf(this.#readBelow);
    this.#cursor = await openChangeStream(this.client, {
      startAtOperationTime,
      batchDocumentsMax,
      signal,
      allChangesForCluster: true,
      version: this.version,
      splitLargeEvents: true,
      ...(this.#passing === null ? {} : { pipeline: withoutLargeParts }),
    });
    this.#fragments = new EventFragments();
    this.#reopened = this.#wasOpen;
    this.#wasOpen = true;
    return this.#cursor.first;
  }
}

function unlessLarge(part: string): Document {
  return { $cond: [{ $gt: [{ $bsonSize: part }, largePartBytes] }, '$$REMOVE', part] };
}
