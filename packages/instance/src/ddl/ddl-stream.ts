import { BSON, type Document, type Timestamp } from 'mongodb';
import { uuidHex } from '../catalog/read/decode-catalog.js';
import { openChangeStream, tokenTime, tokenUuid } from '../cluster/change-stream.js';
import { timeOf, timestampOf } from '../cluster/cluster-time.js';
import type { ClusterClient, NodeClient, RawCursor } from '../cluster/node-client.js';
import { classify } from '../cluster/failure.js';
import { isAtLeast } from '../cluster/topology.js';
import { historyLost } from '../cluster/history-lost.js';
import type { Retrying } from '../cluster/retry.js';

/** How long the server waits for a change before it says how far it is: what is routed follows this, so it is short. */
const awaitData_ms = 200;
/** The same while nothing is to be routed: what comes next waits for so long at most. */
const idleAwaitData_ms = 1_000;
/** The same while a commit waits for the horizon. */
const commitAwaitData_ms = 50;
/** Definition changes are few. */
const batchDocumentsMax = 1_000;
/** The server leaves everything else out. */
const onlyDdl = { $match: { operationType: { $nin: ['insert', 'update', 'replace', 'delete'] } } };

/** A change of a definition, as one shard reports it. */
export interface DdlEvent {
  operation: string;
  /** Cluster time. */
  time: bigint;
  /** UUID of the source collection; null for views and whole databases. */
  uuid: string | null;
  database: string;
  /** Empty when the event is about a database. */
  name: string;
  to: { database: string; name: string } | null;
  /** The UUID under which `moveCollection` (8.0) has put the same collection on another shard; null for all other changes. */
  movedTo: string | null;
}

/** Events in order, and the time below which no other can come. */
export interface DdlStep {
  events: readonly DdlEvent[];
  readBelow: bigint;
}

/** One cursor, the time below which it has brought everything, and what it has brought at or above that of the others. */
interface Part {
  cursor: RawCursor;
  isNew: boolean;
  readBelow: bigint;
  ahead: DdlEvent[];
}

/**
 * The source's stream of definition changes, of all shards, resumed by time. Before 6.0 a router carries the stages of a stream out itself,
 * and an event of a document that fits into no reply ends it, whatever they leave out (seen on 5.0.7): where the shards may be asked
 * themselves, each of them leaves those events out, and its stream is read for itself.
 */
export class DdlStream {
  #parts: Part[] = [];

  constructor(
    private readonly source: Pick<ClusterClient, 'router' | 'version' | 'access' | 'kind' | 'shardIds' | 'shard'>,
    private readonly retrying: Retrying,
    /** Where the stream begins when it has to be opened: everything below is known. */
    private readonly position: () => bigint,
    /** Called when the stream is opened: what was read at or above the position comes again. */
    private readonly onOpen: () => void,
    /** Whether nothing has come for long that would wait for this stream. */
    private readonly isIdle: () => boolean,
    /** Whether a commit waits for how far the stream is. */
    private readonly isAwaited: () => boolean,
  ) {}

  /** @throws ConvoyError `oplogHistoryLost` when the oplog no longer reaches back to the position */
  async next(signal: AbortSignal): Promise<DdlStep> {
    await this.retrying('read definition changes', () => this.#read(signal), signal);
    const readBelow = this.#parts
      .map((part) => part.readBelow)
      .reduce((lowest, time) => (time < lowest ? time : lowest));
    const isAhead = ({ time }: DdlEvent): boolean => this.#parts.length > 1 && time >= readBelow;
    const events = this.#parts.flatMap(({ ahead }) => ahead.filter((event) => !isAhead(event)));
    for (const part of this.#parts) part.ahead = part.ahead.filter(isAhead);
    return { events: this.#parts.length > 1 ? events.sort((a, b) => Number(a.time - b.time)) : events, readBelow };
  }

  async close(): Promise<void> {
    const parts = this.#parts;
    this.#parts = [];
    await Promise.all(parts.map(({ cursor }) => cursor.close()));
  }

  async #read(signal: AbortSignal): Promise<void> {
    const position = this.position();
    try {
      if (this.#parts.length === 0) await this.#open(position, signal);
      await Promise.all(this.#parts.map((part) => this.#readPart(part, signal)));
    } catch (error) {
      await this.close();
      if (classify(error) === 'historyLost') throw await historyLost(this.#shards(), position, signal);
      throw error;
    }
  }

  async #readPart(part: Part, signal: AbortSignal): Promise<void> {
    const batch = part.isNew ? part.cursor.first : await part.cursor.next({ signal, maxTime_ms: this.#await_ms() });
    part.isNew = false;
    part.ahead.push(...batch.documents.map(parseDdlEvent));
    const time = batch.resumeToken === undefined ? 0n : tokenTime(batch.resumeToken);
    if (time > part.readBelow) part.readBelow = time;
  }

  async #open(position: bigint, signal: AbortSignal): Promise<void> {
    this.onOpen();
    const { router, version, kind } = this.source;
    const shards = kind === 'sharded' && !isAtLeast(version, 6, 0) ? this.#shards() : [];
    for (const client of shards.length > 0 ? shards : [router]) {
      const cursor = await openChangeStream(client, {
        startAtOperationTime: timestampOf(position),
        batchDocumentsMax,
        signal,
        allChangesForCluster: true,
        version,
        pipeline: [onlyDdl],
      });
      this.#parts.push({ cursor, isNew: true, readBelow: 0n, ahead: [] });
    }
  }

  #await_ms(): number {
    if (this.isAwaited()) return commitAwaitData_ms;
    return this.isIdle() ? idleAwaitData_ms : awaitData_ms;
  }

  /** The shards themselves, where they may be asked. */
  #shards(): NodeClient[] {
    const { access, shardIds } = this.source;
    return access === 'direct' ? shardIds.map((id) => this.source.shard(id)) : [];
  }
}

/** Reads an event; from 6.0 on it names its collection, before that its token does. That of a view's creation names `system.views`. */
export function parseDdlEvent(bytes: Uint8Array): DdlEvent {
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
    movedTo: movedTo(operation, event.operationDescription),
  };
}

/** From 8.0 on a `reshardCollection` tells what it was made by: a collection that was only moved keeps its definition. */
function movedTo(operation: string, description: unknown): string | null {
  const { provenance, reshardUUID } = (description as Document | undefined) ?? {};
  return operation === 'reshardCollection' && provenance === 'moveCollection' ? uuidHex(reshardUUID) || null : null;
}

function namespaceIn(value: unknown): { database: string; name: string } {
  const { db, coll } = (value as Document | undefined) ?? {};
  return { database: typeof db === 'string' ? db : '', name: typeof coll === 'string' ? coll : '' };
}
