import { Timestamp } from 'bson';
import { compareTimestamps } from '../../bson/compare.js';
import { highWaterToken, resumeTokenDocument, type ResumeTokenVersion } from '../../bson/resume-token.js';
import { scanPath } from '../../bson/scan.js';
import { type Doc, RawDocument } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { CommandRequest } from '../../node/command.js';
import { numberOf } from '../../node/doc-fields.js';
import type { ServerVersion } from '../../node/server-version.js';
import { getMoreContext, inContext, tokenNotFound } from '../../shard/change-stream/stream-failure.js';
import type { ShardStream, ShardStreamEvent, StreamStart } from '../../shard/change-stream/shard-stream.js';
import { BatchBuilder } from '../read/batch-size.js';
import type { RouterBatch, RouterCursor } from '../read/router-cursors.js';

/** How long a getMore waits for events without a given time (server default for tailable cursors). */
const awaitMsDefault = 1000;
/** Events fetched ahead from one shard. */
const aheadEventsMax = 1000;
const aheadBytesMax = 16_777_216;

/** The shards whose streams are merged. */
interface StreamSources {
  /** All current shards of the cluster. One that joins later is read from then on. */
  readonly shards: () => readonly ClusterShard[];
  readonly open: (shard: ClusterShard, start: StreamStart) => ShardStream;
}

export interface MergedStreamStart {
  readonly start: StreamStart;
  /** Token of the position before the first event. */
  readonly token: Doc;
  /** Some shard must return the event of the token before any other event. */
  readonly resumesAtEvent: boolean;
  /** Format of the tokens of empty batches. */
  readonly tokenVersion: ResumeTokenVersion;
}

interface Source {
  readonly shard: ClusterShard;
  readonly stream: ShardStream;
  ahead: ShardStreamEvent[];
  position: number;
}

/** The change streams of all shards as one, in the order of the resume tokens. */
export class MergedStream implements RouterCursor {
  readonly awaitsData = true;
  readonly #sources: Source[] = [];
  /** Everything up to here has been returned. */
  #reached: Timestamp | undefined;
  #token: Doc;
  #awaitsToken: boolean;
  #ended = false;

  constructor(
    readonly namespace: string,
    private readonly version: ServerVersion,
    private readonly streams: StreamSources,
    private readonly from: MergedStreamStart,
  ) {
    this.#token = from.token;
    this.#awaitsToken = from.resumesAtEvent;
    for (const shard of streams.shards()) this.#add(shard, from.start);
  }

  /** The first batch of the command: a router returns only the position. Events come with the first getMore. */
  first(): RouterBatch {
    return { documents: [], exhausted: false, postBatchResumeToken: this.#token };
  }

  async next(batchSize: number | undefined, request: CommandRequest): Promise<RouterBatch> {
    const deadlineMs = Date.now() + (numberOf(request.body.get('maxTimeMS')) ?? awaitMsDefault);
    const batch = new BatchBuilder(batchSize ?? Infinity);
    for (;;) {
      this.#addNewShards();
      this.#collect(batch);
      if (this.#idle()) this.#advanceTo(this.#scannedByAll());
      const leftMs = deadlineMs - Date.now();
      if (batch.documents.length > 0 || this.#ended || leftMs <= 0 || request.signal.aborted) break;
      await this.#wait(leftMs, request.signal);
    }
    if (this.#ended) this.#closeSources();
    return { documents: batch.documents, exhausted: this.#ended, postBatchResumeToken: this.#token };
  }

  close(): Promise<void> {
    this.#ended = true;
    this.#closeSources();
    return Promise.resolve();
  }

  #add(shard: ClusterShard, start: StreamStart): void {
    this.#sources.push({ shard, stream: this.streams.open(shard, start), ahead: [], position: 0 });
  }

  /** A shard that joins the cluster is read from the position of the others. */
  #addNewShards(): void {
    for (const shard of this.streams.shards()) {
      if (this.#sources.some((source) => source.shard.id === shard.id)) continue;
      this.#add(shard, this.#reached === undefined ? this.from.start : { kind: 'time', clusterTime: this.#reached });
    }
  }

  #closeSources(): void {
    for (const source of this.#sources) {
      source.stream.close();
      source.ahead = [];
      source.position = 0;
    }
  }

  #collect(batch: BatchBuilder): void {
    while (!batch.full && !this.#ended) {
      const source = this.#nextSource();
      const event = source?.ahead[source.position];
      if (source === undefined || event === undefined) return;
      this.#refuseWithoutToken(event);
      if (!batch.add(new RawDocument(event.bytes))) return;
      source.position += 1;
      this.#token = tokenOf(event);
      this.#reached = event.clusterTime;
      this.#ended = event.invalidates;
    }
  }

  #refuseWithoutToken(event: ShardStreamEvent): void {
    if (!this.#awaitsToken) return;
    if (!this.#sources.some(({ stream }) => stream.tokenSeen)) throw tokenNotFound(event.token);
    this.#awaitsToken = false;
  }

  /** The shard with the next event of all. Undefined while a shard may still send an earlier one. */
  #nextSource(): Source | undefined {
    let first: Source | undefined;
    let bound: Timestamp | undefined;
    for (const source of this.#sources) {
      if (source.position >= source.ahead.length) this.#refill(source);
      const event = source.ahead[source.position];
      if (event === undefined) {
        const scanned = source.stream.scannedTo;
        if (bound === undefined || compareTimestamps(scanned, bound) < 0) bound = scanned;
      } else if (first === undefined || event.token < (first.ahead[first.position]?.token ?? '')) {
        first = source;
      }
    }
    const event = first?.ahead[first.position];
    return event !== undefined && bound !== undefined && compareTimestamps(event.clusterTime, bound) > 0
      ? undefined
      : first;
  }

  #refill(source: Source): void {
    source.position = 0;
    source.ahead = [];
    try {
      source.ahead = source.stream.take(aheadEventsMax, aheadBytesMax);
    } catch (error) {
      throw inContext(inContext(error, getMoreContext(this.version)), `Error on remote shard ${source.shard.host}`);
    }
  }

  #idle(): boolean {
    return this.#sources.some((source) => source.position >= source.ahead.length);
  }

  /** The time up to which every shard's events have been returned. */
  #scannedByAll(): Timestamp {
    let time: Timestamp | undefined;
    for (const source of this.#sources) {
      const next = source.ahead[source.position];
      const reached = next === undefined ? source.stream.scannedTo : before(next.clusterTime);
      if (time === undefined || compareTimestamps(reached, time) < 0) time = reached;
    }
    return time ?? new Timestamp({ t: 0, i: 0 });
  }

  #advanceTo(time: Timestamp): void {
    const reached = resumeTokenDocument(highWaterToken(time, this.from.tokenVersion));
    if (dataOf(reached) <= dataOf(this.#token)) return;
    this.#token = reached;
    this.#reached = time;
  }

  #wait(leftMs: number, signal: AbortSignal): Promise<void> {
    const idle = this.#sources.filter((source) => source.position >= source.ahead.length);
    return firstOf(
      idle.map(
        ({ stream }) =>
          (until) =>
            stream.waitForChange(leftMs, until),
      ),
      signal,
    );
  }
}

function tokenOf(event: ShardStreamEvent): Doc {
  const id = scanPath(event.bytes, '_id');
  return id instanceof Map ? id : new Map([['_data', event.token]]);
}

function dataOf(token: Doc): string {
  const data = token.get('_data');
  return typeof data === 'string' ? data : '';
}

/** The cluster time just below another. */
function before(time: Timestamp): Timestamp {
  return time.i > 0 ? new Timestamp({ t: time.t, i: time.i - 1 }) : new Timestamp({ t: time.t - 1, i: 0xffffffff });
}

/** A shared abort reason: without one every abort creates an error with its stack. */
const othersEnded = new Error('another wait ended first');

/**
 * Starts all waits, returns when the first one ends, and aborts the others. Streams call this after every oplog entry:
 * one listener costs a fraction of `AbortSignal.any`.
 * @param waits each starts a wait, which ends when the signal that it gets aborts
 * @param signal aborts all waits
 */
async function firstOf(waits: readonly ((until: AbortSignal) => Promise<void>)[], signal: AbortSignal): Promise<void> {
  const done = new AbortController();
  const end = (): void => done.abort(othersEnded);
  if (signal.aborted) end();
  signal.addEventListener('abort', end);
  try {
    await Promise.race(waits.map((wait) => wait(done.signal)));
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}
