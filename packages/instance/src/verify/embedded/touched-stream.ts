import { BSON, type Document } from 'mongodb';
import { elementType } from '../../bson/element-type.js';
import { findElement, findValue, ownedValue, readTimestamp, type RawValue } from '../../bson/scan.js';
import { openChangeStream, tokenTime } from '../../cluster/change-stream.js';
import { timeOf, timestampOf } from '../../cluster/cluster-time.js';
import type { ClusterClient, RawBatch, RawCursor } from '../../cluster/node-client.js';
import { classify, isEventTooLarge } from '../../cluster/failure.js';
import { ResumableCursor } from '../../cluster/resumable-cursor.js';
import type { Retrying } from '../../cluster/retry.js';

/** How long the server waits for an event before it says how far it is. */
const awaitData_ms = 200;
/**
 * The same while a commit waits for it, for each share: every share has two such streams, of all shards, so that the load of
 * all of them grows with the square.
 */
const commitAwait_ms = 25;
/** Events are small: only keys are left of them. */
const batchDocumentsMax = 2_000;
/** Beyond this the server is given the databases alone, and the rest is left out here. */
const namesMax = 500;

/** A document that was written to. */
export interface Touch {
  database: string;
  name: string;
  id: RawValue;
  /** Cluster time. */
  time: bigint;
}

/** Touches in order, and the time below which no other can come. */
export interface TouchStep {
  touches: Touch[];
  readBelow: bigint;
  /** The cluster's own time when it answered; 0 when it did not say. */
  clusterTime: bigint;
}

/** The oplogs no longer reach back to where the stream has to go on, or an event there fits into no reply of a router: what was touched since is not known. */
export class TouchesLostError extends Error {
  override readonly name = 'TouchesLostError';
}

/** The keys of what is written to some collections of a cluster, read through the router, resumed by time. */
export class TouchedStream {
  readonly #cursor = new ResumableCursor((signal) => this.#open(signal));

  constructor(
    private readonly cluster: Pick<ClusterClient, 'router' | 'version' | 'name'>,
    private readonly names: readonly { database: string; name: string }[],
    private readonly retrying: Retrying,
    /** Where the stream begins when it has to be opened. */
    private readonly position: () => bigint,
    private readonly load: { tasks: number; isCommitAwaited(): boolean },
  ) {}

  /** @throws TouchesLostError */
  async next(signal: AbortSignal): Promise<TouchStep> {
    const batch = await this.retrying(`read what is written to ${this.cluster.name}`, () => this.#read(signal), signal);
    return {
      touches: batch.documents.flatMap((event) => parseTouch(event) ?? []),
      readBelow: batch.resumeToken === undefined ? 0n : tokenTime(batch.resumeToken),
      clusterTime: batch.operationTime === undefined ? 0n : timeOf(batch.operationTime),
    };
  }

  async close(): Promise<void> {
    await this.#cursor.close();
  }

  async #read(signal: AbortSignal): Promise<RawBatch> {
    try {
      return await this.#cursor.next({ signal, maxTime_ms: this.#await_ms() });
    } catch (error) {
      if (classify(error) === 'historyLost' || isEventTooLarge(error)) throw new TouchesLostError();
      throw error;
    }
  }

  #open(signal: AbortSignal): Promise<RawCursor> {
    const { router, version } = this.cluster;
    return openChangeStream(router, {
      startAtOperationTime: timestampOf(this.position()),
      batchDocumentsMax,
      signal,
      allChangesForCluster: true,
      version,
      pipeline: [
        { $match: { operationType: { $in: ['insert', 'update', 'replace', 'delete'] }, ...this.#onlyNames() } },
        { $project: { ns: 1, documentKey: 1, clusterTime: 1 } },
      ],
    });
  }

  #await_ms(): number {
    return this.load.isCommitAwaited() ? Math.min(awaitData_ms, commitAwait_ms * this.load.tasks) : awaitData_ms;
  }

  #onlyNames(): Document {
    if (this.names.length <= namesMax)
      return { ns: { $in: this.names.map(({ database, name }) => ({ db: database, coll: name })) } };
    return { 'ns.db': { $in: [...new Set(this.names.map(({ database }) => database))] } };
  }
}

/** Reads the key of an event; null for what has none. */
function parseTouch(event: Uint8Array): Touch | null {
  const key = findElement(event, 'documentKey');
  const namespace = findElement(event, 'ns');
  const time = findElement(event, 'clusterTime');
  if (key?.type !== elementType.document || namespace === null || time === null) return null;
  const id = findValue(event.subarray(key.start, key.end), '_id');
  const { db, coll } = BSON.deserialize(event.subarray(namespace.start, namespace.end));
  if (id === null || typeof db !== 'string' || typeof coll !== 'string') return null;
  return { database: db, name: coll, id: ownedValue(id), time: readTimestamp(event, time) };
}
