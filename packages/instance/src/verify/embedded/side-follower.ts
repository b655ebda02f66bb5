import { secondsOf } from '../../cluster/cluster-time.js';
import { Condition } from '../../async/waiting.js';
import type { Side } from '../compare/sides.js';
import { TouchedStream, TouchesLostError } from './touched-stream.js';
import type { BookedCollection, VerificationStore } from './verification-store.js';
import type { CollectionToVerify } from './verification-plan.js';
import type { VerifierDependencies } from './verifier-dependencies.js';

/**
 * Delay before a key that was just written is checked: other keys of its collection join it, and the change is probably
 * applied by then.
 */
const settle_ms = 300;
/** Interval of checks for room while too many keys wait. */
const full_ms = 50;

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
        while (store.keys.isFull) await deps.clock.sleep(full_ms, signal);
        const { touches, readBelow, clusterTime } = await stream.next(signal);
        signal.throwIfAborted();
        const notBefore_ms = deps.clock.monotonic_ms() + settle_ms;
        for (const { database, name, id, time } of touches) {
          const entry_ = store.named(side, { database, name });
          if (entry_?.plan !== null && entry_ !== undefined && time > entry_.plan.times[side])
            store.keys.add(side, entry_.collection.key, id, time, notBefore_ms);
        }
        this.#advance(readBelow, clusterTime);
      }
    } finally {
      await stream.close();
    }
  }

  #advance(readBelow: bigint, clusterTime: bigint): void {
    this.#heard_ms = this.deps.clock.monotonic_ms();
    if (clusterTime > this.#clusterTime) this.#clusterTime = clusterTime;
    if (readBelow <= (this.#position ?? 0n)) return;
    this.#position = readBelow;
    this.moved.changed();
  }
}
