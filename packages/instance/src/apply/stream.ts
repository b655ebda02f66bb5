import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { openChangeStream, tokenTime } from '../cluster/change-stream.js';
import { secondsOf, timeOf, timestampOf } from '../cluster/cluster-time.js';
import type { Cluster, Door, RawBatch, RawCursor } from '../cluster/door.js';
import { classify } from '../cluster/failure.js';
import type { Retrying } from '../store/metadata.js';

/** How long the server waits for events before it answers with an empty batch and the token of its present time. */
const awaitData_ms = 1000;
/** The same until the stream has passed its start: nothing is copied before it has said where it is. */
const awaitStart_ms = 100;
/** More events than one 16 MB reply of small documents holds are never asked for. */
const batchDocumentsMax = 10_000;

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
export class ShardStream {
  #cursor: RawCursor | null = null;
  #readBelow: bigint;
  #wasOpen = false;
  #reopened = false;

  /** @param startAt the first time to be read */
  constructor(
    private readonly door: Door,
    private readonly version: Cluster['version'],
    private readonly retrying: Retrying,
    private readonly startAt: bigint,
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
    const sourceTime = batch.operationTime === undefined ? 0n : timeOf(batch.operationTime);
    const reopened = this.#reopened;
    this.#reopened = false;
    return { events: batch.documents, readBelow: this.#readBelow, sourceTime, reopened };
  }

  async close(): Promise<void> {
    const cursor = this.#cursor;
    this.#cursor = null;
    await cursor?.close();
  }

  async #read(signal: AbortSignal): Promise<RawBatch> {
    try {
      if (this.#cursor === null) return await this.#open(signal);
      const maxTime_ms = this.#readBelow > this.startAt ? awaitData_ms : awaitStart_ms;
      return await this.#cursor.next({ signal, maxTime_ms });
    } catch (error) {
      await this.close();
      if (classify(error) === 'historyLost') throw historyLost(this.#readBelow);
      throw error;
    }
  }

  async #open(signal: AbortSignal): Promise<RawBatch> {
    const startAtOperationTime = timestampOf(this.#readBelow);
    this.#cursor = await openChangeStream(this.door, {
      startAtOperationTime,
      batchDocumentsMax,
      signal,
      allChangesForCluster: true,
      version: this.version,
    });
    this.#reopened = this.#wasOpen;
    this.#wasOpen = true;
    return this.#cursor.first;
  }
}

function historyLost(position: bigint): ConvoyError {
  const reached = new Date(secondsOf(position) * 1000).toISOString();
  return new ConvoyError(
    'oplogHistoryLost',
    `The oplog of the source no longer reaches back to ${reached}, where the change stream has to go on. Start anew with a larger oplog.`,
  );
}
