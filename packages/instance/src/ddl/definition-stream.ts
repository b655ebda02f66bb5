import { BSON, type Document, type Timestamp } from 'mongodb';
import { uuidHex } from '../catalog/read/decode-catalog.js';
import { openChangeStream, tokenTime, tokenUuid } from '../cluster/change-stream.js';
import { timeOf, timestampOf } from '../cluster/cluster-time.js';
import type { Cluster, Door, RawBatch, RawCursor } from '../cluster/door.js';
import { classify } from '../cluster/failure.js';
import { historyLost } from '../cluster/history-lost.js';
import type { Retrying } from '../cluster/retry.js';

/** How long the server waits for a change before it says how far it is: what is routed follows this, so it is short. */
const awaitData_ms = 200;
/** The same while nothing is to be routed: what comes next waits for so long at most. */
const calmAwaitData_ms = 1_000;
/** The same while a commit waits for the horizon. */
const commitAwaitData_ms = 50;
/** Definition changes are few. */
const batchDocumentsMax = 1_000;
/** The server leaves everything else out. */
const onlyDefinitions = { $match: { operationType: { $nin: ['insert', 'update', 'replace', 'delete'] } } };

/** A change of a definition, as one shard reports it. */
export interface DefinitionEvent {
  operation: string;
  /** Cluster time. */
  time: bigint;
  /** UUID of the source collection; null for views and whole databases. */
  uuid: string | null;
  database: string;
  /** Empty when the event is about a database. */
  name: string;
  to: { database: string; name: string } | null;
}

/** Events in order, and the time below which no other can come. */
export interface DefinitionStep {
  events: readonly DefinitionEvent[];
  readBelow: bigint;
}

/** The source's stream of definition changes, of all shards, resumed by time. */
export class DefinitionStream {
  #cursor: RawCursor | null = null;

  constructor(
    private readonly source: Pick<Cluster, 'router' | 'version' | 'access' | 'shardIds' | 'shard'>,
    private readonly retrying: Retrying,
    /** Where the stream begins when it has to be opened: everything below is known. */
    private readonly position: () => bigint,
    /** Called when the stream is opened: what was read at or above the position comes again. */
    private readonly onOpen: () => void,
    /** Whether nothing has come for long that would wait for this stream. */
    private readonly isCalm: () => boolean,
    /** Whether a commit waits for how far the stream is. */
    private readonly isAwaited: () => boolean,
  ) {}

  /** @throws ConvoyError `oplogHistoryLost` when the oplog no longer reaches back to the position */
  async next(signal: AbortSignal): Promise<DefinitionStep> {
    const batch = await this.retrying('read definition changes', () => this.#read(signal), signal);
    const readBelow = batch.resumeToken === undefined ? 0n : tokenTime(batch.resumeToken);
    return { events: batch.documents.map(parseDefinitionEvent), readBelow };
  }

  async close(): Promise<void> {
    const cursor = this.#cursor;
    this.#cursor = null;
    await cursor?.close();
  }

  async #read(signal: AbortSignal): Promise<RawBatch> {
    const position = this.position();
    try {
      if (this.#cursor !== null) return await this.#cursor.next({ signal, maxTime_ms: this.#await_ms() });
      this.onOpen();
      this.#cursor = await openChangeStream(this.source.router, {
        startAtOperationTime: timestampOf(position),
        batchDocumentsMax,
        signal,
        allChangesForCluster: true,
        version: this.source.version,
        pipeline: [onlyDefinitions],
      });
      return this.#cursor.first;
    } catch (error) {
      await this.close();
      if (classify(error) === 'historyLost') throw await historyLost(this.#shards(), position, signal);
      throw error;
    }
  }

  #await_ms(): number {
    if (this.isAwaited()) return commitAwaitData_ms;
    return this.isCalm() ? calmAwaitData_ms : awaitData_ms;
  }

  /** The shards themselves, where they may be asked. */
  #shards(): Door[] {
    const { access, shardIds } = this.source;
    return access === 'direct' ? shardIds.map((id) => this.source.shard(id)) : [];
  }
}

/** Reads an event; from 6.0 on it names its collection, before that its token does. That of a view's creation names `system.views`. */
export function parseDefinitionEvent(bytes: Uint8Array): DefinitionEvent {
  const event = BSON.deserialize(bytes);
  const stated = uuidHex(event.collectionUUID);
  const { _data } = event._id as { _data: string };
  const { database, name } = namespaceIn(event.ns);
  const operation = String(event.operationType);
  const inToken = operation === 'create' ? null : tokenUuid(_data);
  return {
    operation,
    time: timeOf(event.clusterTime as Timestamp),
    uuid: stated === '' ? inToken : stated,
    database,
    name,
    to: event.to === undefined ? null : namespaceIn(event.to),
  };
}

function namespaceIn(value: unknown): { database: string; name: string } {
  const { db, coll } = (value as Document | undefined) ?? {};
  return { database: typeof db === 'string' ? db : '', name: typeof coll === 'string' ? coll : '' };
}
