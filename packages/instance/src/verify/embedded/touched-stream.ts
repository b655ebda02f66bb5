import { BSON, type Document } from 'mongodb';
import { elementType } from '../../bson/element-type.js';
import { findElement, findValue, ownedValue, type RawValue, readTimestamp } from '../../bson/scan.js';
import { openChangeStream, tokenTime, ownPlace, type StreamPlace, WatchedStream } from '../../cluster/change-stream.js';
import { timeOf, timestampOf } from '../../cluster/cluster-time.js';
import type { ClusterClient, RawBatch, RawCursor } from '../../cluster/node-client.js';
import { classify, isEventTooLarge } from '../../cluster/failure.js';
import type { Retrying } from '../../async/retry.js';
import type { MigrationToVerify } from './verifier-dependencies.js';

/** How long the server waits for an event before it reports its position. */
const awaitData_ms = 200;
/**
 * The same while a commit waits for it, per sync task: every sync task has two such streams of all shards, so their
 * total load grows with the square.
 */
const commitAwait_ms = 25;
/** Events are small: only their keys remain. */
const batchDocumentsMax = 2_000;
/** Above this number the server filters by databases only, and the client filters the rest. */
const namesMax = 500;

/** A document that was written. */
interface Touch {
  database: string;
  name: string;
  id: RawValue;
  /** Cluster time. */
  time: bigint;
}

/** Writes in order, and the time below which no others can arrive. */
interface TouchStep {
  touches: Touch[];
  readBelow: bigint;
  /** The cluster's own time at its reply; 0 if it did not report one. */
  clusterTime: bigint;
}

/**
 * The oplogs no longer reach back to the stream's position, or an event there does not fit into any reply of a router:
 * the writes since are unknown.
 */
export class TouchesLostError extends Error {
  override readonly name = 'TouchesLostError';
}

/** The keys of the writes to some collections of a cluster, read through the router, resumed by time. */
export class TouchedStream {
  readonly #cursor: WatchedStream;

  constructor(
    private readonly cluster: Pick<ClusterClient, 'router' | 'version' | 'name'>,
    private readonly names: readonly { database: string; name: string }[],
    private readonly retrying: Retrying,
    /** Where the stream starts if it must be opened again. */
    private readonly position: () => bigint,
    private readonly load: { tasks: number; migration: Pick<MigrationToVerify, 'isCommitAwaited'> },
    place: StreamPlace = ownPlace(),
  ) {
    const wait = { from: cluster.router.label, what: 'the stream of writes for the verifier' };
    this.#cursor = new WatchedStream(place, wait, position(), (signal) => this.#open(signal));
  }

  /** @throws TouchesLostError */
  async next(signal: AbortSignal): Promise<TouchStep> {
    const batch = await this.retrying(`read the writes to ${this.cluster.name}`, () => this.#read(signal), signal);
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
    const { tasks, migration } = this.load;
    return migration.isCommitAwaited ? Math.min(awaitData_ms, commitAwait_ms * tasks) : awaitData_ms;
  }

  #onlyNames(): Document {
    if (this.names.length <= namesMax)
      return { ns: { $in: this.names.map(({ database, name }) => ({ db: database, coll: name })) } };
    return { 'ns.db': { $in: [...new Set(this.names.map(({ database }) => database))] } };
  }
}

/** Reads the key of an event; null if it has none. */
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
