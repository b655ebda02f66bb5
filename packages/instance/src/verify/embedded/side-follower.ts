import type { Document } from 'mongodb';
import type { Retrying } from '../../async/retry.js';
import { Condition } from '../../async/waiting.js';
import { elementType } from '../../bson/element-type.js';
import { findElement, findValue, ownedValue, type RawValue, readString, readTimestamp } from '../../bson/scan.js';
import { openChangeStream, tokenTime, ownPlace, type StreamPlace, WatchedStream } from '../../cluster/change-stream.js';
import { secondsOf, timeOf, timestampOf } from '../../cluster/cluster-time.js';
import { classify, isEventTooLarge } from '../../cluster/failure.js';
import type { ClusterClient, RawBatch, RawCursor } from '../../cluster/node-client.js';
import type { Side } from '../compare/sides.js';
import type { CollectionToVerify, VerifierDependencies, MigrationToVerify } from './verification-plan.js';
import type { BookedCollection, VerificationStore } from './verification-store.js';

/**
 * Delay before a key that was just written is checked: other keys of its collection join it, and the change is probably
 * applied by then.
 */
const settle_ms = 300;
/** Interval of checks whether reading goes on: there is room for keys, and applying does not go before. */
const pause_ms = 50;
/** Pause after few events: a stream answers each one at once, and events that come together cost less on both ends. */
const gather_ms = 100;
/** Applying that is behind by more catches up, and reading the changes once more would take servers from it. */
const catchingUp_seconds = 3;
/** Reading yields while it is behind by less: what applying has done cannot become too old for the oplogs. */
const yieldedMax_seconds = 60;

/** Follows the writes to the sync task's own collections on one side. */
export class SideFollower {
  readonly moved = new Condition();
  #followed: ReadonlyMap<string, CollectionToVerify> = new Map();
  readonly #startAt: bigint | null;
  #position: bigint | null;
  #clusterTime = 0n;
  #heard_ms: number;
  #reopen = new AbortController();

  /** @param startAt where an earlier process stopped; null: nothing was followed yet */
  constructor(
    readonly side: Side,
    private readonly deps: VerifierDependencies,
    private readonly store: VerificationStore,
    startAt: bigint | null,
  ) {
    this.#startAt = startAt;
    this.#position = startAt;
    this.#heard_ms = deps.clock.monotonic_ms();
  }

  /** Everything below was read; null while nothing is followed. */
  get position(): bigint | null {
    return this.#followed.size === 0 ? null : this.#position;
  }

  /** Everything below was read and checked: another process continues here. */
  get settledBelow(): bigint | null {
    const oldest = this.store.keys.oldest(this.side);
    if (this.#position === null || oldest === null) return this.#position;
    return oldest < this.#position ? oldest : this.#position;
  }

  /** The cluster's time at its last reply. */
  get clusterTime(): bigint {
    return this.#clusterTime;
  }

  /** How far checking is behind the cluster; 0 while nothing is followed. */
  get lag_seconds(): number {
    return this.#behind_seconds(this.position === null ? null : this.settledBelow);
  }

  /** How far reading is behind the cluster, without the keys that wait for a check; 0 while nothing is followed. */
  get readLag_seconds(): number {
    return this.#behind_seconds(this.position);
  }

  #behind_seconds(time: bigint | null): number {
    if (time === null || this.#clusterTime === 0n) return 0;
    const silent_seconds = Math.max(0, this.deps.clock.monotonic_ms() - this.#heard_ms) / 1000;
    return Math.floor(Math.max(0, secondsOf(this.#clusterTime) - secondsOf(time)) + silent_seconds);
  }

  /**
   * Follows the collections that were planned when the sync task was taken over, from where the former owner stopped.
   */
  begin(): void {
    const { streamed } = this.store;
    for (const { plan } of this.#startAt === null ? streamed : []) this.#reachBackTo(plan?.times[this.side] ?? 0n);
    this.#set(streamed);
  }

  /** Follows the currently planned collections, new ones from the times of their plans on. */
  follow(): void {
    const { streamed } = this.store;
    const fresh = streamed.filter(({ collection }) => !this.#followed.has(collection.key));
    if (fresh.length === 0 && this.#followed.size === streamed.length) return;
    for (const { plan } of fresh) this.#reachBackTo(plan?.times[this.side] ?? 0n);
    this.#set(streamed);
  }

  #reachBackTo(time: bigint): void {
    if (this.#position === null || time < this.#position) this.#position = time;
  }

  #set(streamed: readonly BookedCollection[]): void {
    // Later collections are followed from the times of their plans on: the position of others does not apply to them.
    if (streamed.length === 0) this.#position = null;
    this.#followed = new Map(streamed.map(({ collection }) => [collection.key, collection]));
    this.#reopen.abort();
    this.#reopen = new AbortController();
    this.moved.changed();
  }

  /** Restarts at a time: earlier writes no longer count. */
  restartAt(time: bigint): void {
    this.#position = time;
    this.#reopen.abort();
    this.#reopen = new AbortController();
  }

  /** @throws TouchesLostError */
  async run(stop: AbortSignal): Promise<void> {
    for (;;) {
      await this.moved.until(() => this.#followed.size > 0, stop);
      const { signal: reopened } = this.#reopen;
      const signal = AbortSignal.any([stop, reopened]);
      await this.#read(signal).catch((error: unknown) => {
        if (stop.aborted || !reopened.aborted || error instanceof TouchesLostError) throw error;
      });
    }
  }

  /** Whether everything up to a time was read. */
  hasRead(time: bigint): boolean {
    return this.position === null || this.position > time;
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { deps, store, side } = this;
    const stream = new TouchedStream(
      deps[side],
      [...this.#followed.values()].map(({ on }) => on[side]),
      deps.retrying,
      () => this.#position ?? 0n,
      deps,
      deps.waits === undefined ? undefined : { clock: deps.clock, waits: deps.waits },
    );
    try {
      for (;;) {
        while (store.keys.isFull || this.#yields()) await deps.clock.sleep(pause_ms, signal);
        const { touches, readBelow, clusterTime } = await stream.next(signal);
        signal.throwIfAborted();
        const notBefore_ms = deps.clock.monotonic_ms() + settle_ms;
        for (const { database, name, id, time } of touches) {
          const entry_ = store.named(side, { database, name });
          if (entry_?.plan !== null && entry_ !== undefined && time > entry_.plan.times[side])
            store.keys.add(side, entry_.collection.key, id, time, notBefore_ms);
        }
        this.#advance(readBelow, clusterTime);
        const gathers = touches.length > 0 && touches.length < batchDocumentsMax / 2 && !deps.migration.isCommitAwaited;
        if (gathers) await deps.clock.sleep(gather_ms, signal);
      }
    } finally {
      await stream.close();
    }
  }

  /** Whether applying catches up: it needs what reading the same changes once more would take. */
  #yields(): boolean {
    const { applyLag_seconds, appliedTime } = this.deps.migration;
    if (applyLag_seconds <= catchingUp_seconds) return false;
    const behind_seconds =
      this.side === 'source' ? secondsOf(appliedTime) - secondsOf(this.#position ?? 0n) : this.readLag_seconds;
    return behind_seconds < yieldedMax_seconds;
  }

  #advance(readBelow: bigint, clusterTime: bigint): void {
    this.#heard_ms = this.deps.clock.monotonic_ms();
    if (clusterTime > this.#clusterTime) this.#clusterTime = clusterTime;
    if (readBelow <= (this.#position ?? 0n)) return;
    this.#position = readBelow;
    this.moved.changed();
  }
}

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
      timeSeries: true,
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
  const names = event.subarray(namespace.start, namespace.end);
  const [database, name] = [findElement(names, 'db'), findElement(names, 'coll')];
  if (id === null || database === null || name === null) return null;
  return {
    database: readString(names, database),
    name: readString(names, name),
    id: ownedValue(id),
    time: readTimestamp(event, time),
  };
}
