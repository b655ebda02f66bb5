import { Timestamp } from 'bson';
import type { Doc } from '../../bson/value.js';
import { type ClusterClock, NodeTime } from '../../node/clock.js';
import { timeKey, timeKeyOf, timestampOf, type TimeKey } from '../storage/time-key.js';
import type { EntryNamespace, EntryTransaction, OplogEntry, OplogOperation, TransactionPart } from './entry.js';
import { EntryLog } from './entry-log.js';

/** Text of the entry of a set's initiation. */
export const initiationMessage = 'initiating set';

/**
 * The operations of a shard in the order of cluster time, truncated at the front by size. Everything is
 * majority-committed at once.
 */
export class Oplog {
  readonly #entries = new EntryLog();
  readonly #given = new NodeTime();
  #bytes = 0;
  #bytesMax: number;
  #lastKey: TimeKey;
  #waiters = new Set<() => void>();
  #wakeScheduled = false;

  constructor(
    private readonly clock: ClusterClock,
    bytesMax: number,
    private readonly now: () => number = Date.now,
  ) {
    this.#bytesMax = bytesMax;
    const clusterTime = clock.tick();
    this.#given.learn(clusterTime);
    this.#lastKey = timeKey(clusterTime);
    this.append(clusterTime, [{ kind: 'silent', note: new Map([['msg', initiationMessage]]) }]);
  }

  /** Approximate bytes of the stored entries. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Approximate limit of the stored bytes. */
  get bytesMax(): number {
    return this.#bytesMax;
  }

  /** Sets a new limit (`replSetResizeOplog`) and truncates at once what exceeds it. */
  resize(bytesMax: number): void {
    this.#bytesMax = bytesMax;
    this.#cutToSize();
  }

  /** Time of the last entry. */
  get lastTime(): Timestamp {
    return timestampOf(this.#lastKey);
  }

  get lastKey(): TimeKey {
    return this.#lastKey;
  }

  /** Number of the entry after the last one. */
  get end(): number {
    return this.#entries.end;
  }

  /** Number of the oldest remaining entry. */
  get start(): number {
    return this.#entries.start;
  }

  /** Returns the time of the next operation. Nothing else may be written in between. */
  nextTime(): Timestamp {
    this.clock.goOn(this.#given);
    return new Timestamp({ t: this.#given.seconds, i: this.#given.increment });
  }

  /** Makes all further times larger than one that another node has issued. */
  learnTime(time: Timestamp): void {
    this.#given.learn(time);
  }

  /** The same as `nextTime`, as a key. */
  nextKey(): TimeKey {
    this.clock.goOn(this.#given);
    return timeKeyOf(this.#given.seconds, this.#given.increment);
  }

  /** @param part of a transaction that takes several entries: which of them this is */
  append(
    clusterTime: Timestamp,
    operations: readonly OplogOperation[],
    transaction?: EntryTransaction,
    part?: TransactionPart,
  ): void {
    const time = timeKey(clusterTime);
    this.#appended(time, this.#entries.append(time, this.now(), operations, transaction, part));
  }

  /** Appends one operation outside of a transaction, at a time of `nextKey`. */
  appendOne(time: TimeKey, operation: OplogOperation): void {
    this.#appended(time, this.#entries.appendOne(time, this.now(), operation));
  }

  /** The same for an inserted document. */
  appendInsert(time: TimeKey, target: EntryNamespace, document: Uint8Array): void {
    this.#appended(time, this.#entries.appendInsert(time, this.now(), target, document));
  }

  #appended(time: TimeKey, bytes: number): void {
    this.#bytes += bytes;
    this.#lastKey = time;
    if (this.#bytes > this.#bytesMax) this.#cutToSize();
    if (this.#waiters.size > 0) this.#scheduleWake();
  }

  appendSilent(note: Doc): Timestamp {
    const clusterTime = this.nextTime();
    this.append(clusterTime, [{ kind: 'silent', note }]);
    return clusterTime;
  }

  /** The entry with this number. Undefined past the end and before the start. */
  at(number: number): OplogEntry | undefined {
    return this.#entries.at(number);
  }

  /** Number of the first entry at or after a time. */
  firstAtOrAfter(time: TimeKey): number {
    return this.#entries.firstAtOrAfter(time);
  }

  /**
   * True when nothing after this time has been truncated: while the very first entry remains, or one at or before the
   * time.
   */
  reachesBackTo(time: TimeKey): boolean {
    const oldest = this.#entries.timeAt(this.start);
    return this.start === 0 || (oldest !== undefined && oldest <= time);
  }

  /** Resolves at the next entry, after the timeout, or on abort. */
  waitForEntry(timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.#waiters.delete(done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      signal.addEventListener('abort', done);
      this.#waiters.add(done);
    });
  }

  /** Waiters wake once the writing command has ended, so that they find all of its entries. */
  #scheduleWake(): void {
    if (this.#wakeScheduled) return;
    this.#wakeScheduled = true;
    setImmediate(() => {
      this.#wakeScheduled = false;
      for (const wake of [...this.#waiters]) wake();
    });
  }

  /** Truncates the entries below a time. The last one stays. */
  loseBefore(time: TimeKey): void {
    while (this.#hasOlder() && (this.#entries.timeAt(this.start) ?? time) < time)
      this.#bytes -= this.#entries.cutFirst();
  }

  #cutToSize(): void {
    while (this.#bytes > this.#bytesMax && this.#hasOlder()) this.#bytes -= this.#entries.cutFirst();
  }

  /** The last entry is never truncated. */
  #hasOlder(): boolean {
    return this.start < this.end - 1;
  }
}
