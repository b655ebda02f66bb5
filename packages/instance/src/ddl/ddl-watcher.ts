import { BSON, type Document, type Timestamp } from 'mongodb';
import type { Retrying } from '../async/retry.js';
import { Condition } from '../async/waiting.js';
import { uuidHex } from '../catalog/catalog-bytes.js';
import {
  openChangeStream,
  ownPlace,
  type StreamPlace,
  StreamWatch,
  tokenTime,
  tokenUuid,
} from '../cluster/change-stream.js';
import { timeOf, timestampOf } from '../cluster/cluster-time.js';
import { classify } from '../cluster/failure.js';
import type { ClusterClient, NodeClient, RawCursor } from '../cluster/node-client.js';
import { historyLost } from '../cluster/oplog-window.js';
import { isAtLeast } from '../cluster/topology.js';
import type { StreamPatience } from '../store/change-event.js';
import type { FollowedCollection } from './ddl-ledger.js';
import type { DdlTracker } from './ddl-tracker.js';

/**
 * Reads the source's DDL changes before any sync task needs them, and writes them to the journal. The journal holds
 * every change below the DDL watermark.
 */
export class DdlWatcher {
  readonly moved = new Condition();
  #ddlWatermark: bigint;
  readonly #stream: DdlStream;

  /** @param startAt everything below is known: the watermark that an earlier watcher stored, or the start time */
  constructor(
    private readonly tracker: DdlTracker,
    source: ClusterClient,
    retrying: Retrying,
    patience: StreamPatience,
    startAt: bigint,
    place?: StreamPlace,
  ) {
    this.#ddlWatermark = startAt;
    this.#stream = new DdlStream(
      source,
      retrying,
      () => this.#ddlWatermark,
      () => tracker.forget(),
      patience,
      place,
    );
  }

  /** The DDL watermark: all DDL changes below this time are in the journal. */
  get ddlWatermark(): bigint {
    return this.#ddlWatermark;
  }

  /** Collections that are created to replace others. */
  get arriving(): Iterable<FollowedCollection> {
    return this.tracker.arriving.values();
  }

  /** Resolves once all DDL changes up to a time are in the journal. */
  async untilKnown(time: bigint, signal: AbortSignal): Promise<void> {
    await this.moved.until(() => this.#ddlWatermark > time, signal);
  }

  /** Reads until the signal; rejects with the first failure. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        const { events, readBelow } = await this.#stream.next(signal);
        for (const event of events) await this.tracker.take(event, signal);
        await this.tracker.settle(readBelow, signal);
        this.#advance(readBelow);
      }
    } finally {
      await this.#stream.close();
    }
  }

  #advance(readBelow: bigint): void {
    const first = this.tracker.firstIncomplete;
    const ddlWatermark = first !== null && first < readBelow ? first : readBelow;
    if (ddlWatermark <= this.#ddlWatermark) return;
    this.#ddlWatermark = ddlWatermark;
    this.moved.changed();
  }
}

/**
 * How long the server waits for a change before it reports its position. Routing waits for this stream, so it is short.
 */
const awaitData_ms = 200;
/** The same while nothing is to be routed: the next event waits at most this long. */
const idleAwaitData_ms = 1_000;
/** The same while a commit waits for the DDL watermark. */
const commitAwaitData_ms = 50;
/** DDL changes are few. */
const batchDocumentsMax = 1_000;
/** The server filters everything else out. */
const onlyDdl = { $match: { operationType: { $nin: ['insert', 'update', 'replace', 'delete'] } } };

/** A DDL change, as one shard reports it. */
export interface DdlEvent {
  operation: string;
  /** Cluster time. */
  time: bigint;
  /** UUID of the source collection; null for views and whole databases. */
  uuid: string | null;
  database: string;
  /** Empty if the event is about a database. */
  name: string;
  to: { database: string; name: string } | null;
  /** What a `reshardCollection` says; null for all other changes. */
  resharded: Resharded | null;
}

/** A resharding, which puts a copy in the place of a collection. `moveCollection` and `unshardCollection` are ones. */
interface Resharded {
  /** The UUID of the copy. */
  to: string;
  /** The collection keeps its shard key; one that is not sharded counts as sharded by `_id`. */
  keepsKey: boolean;
  /** The command, as servers after 8.0 name it; null where they do not. */
  provenance: string | null;
}

/** Events in order, and the time below which no others can arrive. */
export interface DdlStep {
  events: readonly DdlEvent[];
  readBelow: bigint;
}

/** One cursor, the time below which it has returned everything, and its events at or above the time of the others. */
interface Part {
  cursor: RawCursor;
  watch: StreamWatch;
  isNew: boolean;
  readBelow: bigint;
  ahead: DdlEvent[];
}

/**
 * The source's stream of DDL changes of all shards, resumed by time. Before 6.0 a router runs a stream's stages itself.
 * So an event of a document that does not fit into any reply ends the stream, even if the stages filter it out (seen on
 * 5.0.7). If Convoy has access to the shards, it reads the stream of each, and each shard filters those events itself.
 */
export class DdlStream {
  #parts: Part[] = [];
  /** By the label of the client: they outlast their cursors. */
  readonly #watches = new Map<string, StreamWatch>();
  /** A part stands still: the next reading opens all anew, behind everything that was returned. */
  #standsStill = false;

  constructor(
    private readonly source: Pick<ClusterClient, 'router' | 'version' | 'access' | 'kind' | 'shardIds' | 'shard'>,
    private readonly retrying: Retrying,
    /** Where the stream starts if it must be opened again: everything below is known. */
    private readonly position: () => bigint,
    /** Called when the stream is opened: events at or above the position come again. */
    private readonly onOpen: () => void,
    private readonly patience: StreamPatience,
    private readonly place: StreamPlace = ownPlace(),
  ) {}

  /** @throws ConvoyError `oplogHistoryLost` if the oplog no longer reaches back to the position */
  async next(signal: AbortSignal): Promise<DdlStep> {
    await this.retrying('read DDL changes', () => this.#read(signal), signal);
    const readBelow = this.#parts
      .map((part) => part.readBelow)
      .reduce((lowest, time) => (time < lowest ? time : lowest));
    const isAhead = ({ time }: DdlEvent): boolean => this.#parts.length > 1 && time >= readBelow;
    const events = this.#parts.flatMap(({ ahead }) => ahead.filter((event) => !isAhead(event)));
    for (const part of this.#parts) part.ahead = part.ahead.filter(isAhead);
    return { events: this.#parts.length > 1 ? events.sort((a, b) => Number(a.time - b.time)) : events, readBelow };
  }

  async close(): Promise<void> {
    for (const watch of this.#watches.values()) watch.close();
    await this.#closeParts();
  }

  async #closeParts(): Promise<void> {
    this.#standsStill = false;
    const parts = this.#parts;
    this.#parts = [];
    await Promise.all(parts.map(({ cursor }) => cursor.close()));
  }

  async #read(signal: AbortSignal): Promise<void> {
    const position = this.position();
    try {
      if (this.#standsStill) await this.#closeParts();
      if (this.#parts.length === 0) await this.#open(position, signal);
      await Promise.all(this.#parts.map((part) => this.#readPart(part, signal)));
    } catch (error) {
      await this.#closeParts();
      if (classify(error) === 'historyLost') throw await historyLost(this.#shards(), position, signal);
      throw error;
    }
  }

  async #readPart(part: Part, signal: AbortSignal): Promise<void> {
    part.watch.asked();
    const batch = part.isNew ? part.cursor.first : await part.cursor.next({ signal, maxTime_ms: this.#await_ms() });
    part.isNew = false;
    part.ahead.push(...batch.documents.map(parseDdlEvent));
    const time = batch.resumeToken === undefined ? 0n : tokenTime(batch.resumeToken);
    if (time > part.readBelow) part.readBelow = time;
    if (part.watch.answered(batch)) this.#standsStill = true;
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
        timeSeries: true,
      });
      this.#parts.push({ cursor, watch: this.#watchOf(client, position), isNew: true, readBelow: 0n, ahead: [] });
    }
  }

  #watchOf({ label }: NodeClient, position: bigint): StreamWatch {
    const wait = { from: label, what: 'the stream of DDL changes' };
    const watch = this.#watches.get(label) ?? new StreamWatch(this.place, wait, position);
    this.#watches.set(label, watch);
    return watch;
  }

  #await_ms(): number {
    if (this.patience.isAwaited()) return commitAwaitData_ms;
    return this.patience.isIdle() ? idleAwaitData_ms : awaitData_ms;
  }

  /** The shards themselves, if they can be accessed. */
  #shards(): NodeClient[] {
    const { access, shardIds } = this.source;
    return access === 'direct' ? shardIds.map((id) => this.source.shard(id)) : [];
  }
}

/**
 * Reads an event. From 6.0 on it names its collection; before, its token does. The event of a view's creation names
 * `system.views`.
 */
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
    resharded: operation === 'reshardCollection' ? reshardedAs(event.operationDescription) : null,
  };
}

function reshardedAs(description: unknown): Resharded | null {
  const { reshardUUID, shardKey, oldShardKey, provenance } = (description as Document | undefined) ?? {};
  const to = uuidHex(reshardUUID);
  if (to === '') return null;
  const keepsKey = oldShardKey === undefined || isSameKey(shardKey as Document, oldShardKey as Document);
  return { to, keepsKey, provenance: typeof provenance === 'string' ? provenance : null };
}

/** The order of a shard key's fields counts. */
function isSameKey(a: Document, b: Document): boolean {
  return Buffer.from(BSON.serialize(a)).equals(BSON.serialize(b));
}

function namespaceIn(value: unknown): { database: string; name: string } {
  const { db, coll } = (value as Document | undefined) ?? {};
  return { database: typeof db === 'string' ? db : '', name: typeof coll === 'string' ? coll : '' };
}
