import type { Timestamp } from 'bson';
import type { Doc } from '../../bson/value.js';
import type { ClusterClock } from '../../node/clock.js';
import { timeKey, type TimeKey } from '../storage/time-key.js';
import { operationBytes, type EntryTransaction, type OplogEntry, type OplogOperation, type TransactionPart } from './entry.js';

/** Cut-off entries that are kept in the array before it is copied, so that cutting stays cheap. */
const CUT_ENTRIES_MAX = 4096;

/** What happened on a shard, in the order of cluster time, cut off at the front by size. Everything is majority-committed at once. */
export class Oplog {
  #entries: OplogEntry[] = [];
  #cut = 0;
  /** Index that the first element of the array has among all entries ever written. */
  #base = 0;
  #bytes = 0;
  #last: { time: TimeKey; clusterTime: Timestamp };
  #waiters = new Set<() => void>();
  #wakeScheduled = false;

  constructor(
    private readonly clock: ClusterClock,
    readonly bytesMax: number,
    private readonly now: () => number = Date.now,
  ) {
    const clusterTime = clock.tick();
    this.#last = { time: timeKey(clusterTime), clusterTime };
    this.append(clusterTime, [{ kind: 'silent', note: new Map([['msg', 'initiating set']]) }]);
  }

  /** Bytes of the entries that are kept, about. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Time of the last entry. */
  get lastTime(): Timestamp {
    return this.#last.clusterTime;
  }

  get lastKey(): TimeKey {
    return this.#last.time;
  }

  /** Number of the entry after the last one. */
  get end(): number {
    return this.#base + this.#entries.length;
  }

  /** Number of the oldest entry that is still there. */
  get start(): number {
    return this.#base + this.#cut;
  }

  /** Gives the time for an operation that is written next; nothing may be written in between. */
  nextTime(): Timestamp {
    return this.clock.tick();
  }

  /** @param part of a transaction that takes several entries: which of them this is */
  append(clusterTime: Timestamp, operations: readonly OplogOperation[], transaction?: EntryTransaction, part?: TransactionPart): void {
    let bytes = 0;
    for (const operation of part?.written ?? operations) bytes += operationBytes(operation);
    const time = timeKey(clusterTime);
    this.#entries.push({ time, clusterTime, operations, transaction, part, bytes, wallMs: this.now() });
    this.#bytes += bytes;
    this.#last = { time, clusterTime };
    if (this.#bytes > this.bytesMax) this.#cutFront(() => this.#bytes > this.bytesMax);
    if (this.#waiters.size > 0) this.#scheduleWake();
  }

  appendSilent(note: Doc): Timestamp {
    const clusterTime = this.nextTime();
    this.append(clusterTime, [{ kind: 'silent', note }]);
    return clusterTime;
  }

  /** The entry with this number; undefined past the end and before the start. */
  at(number: number): OplogEntry | undefined {
    return number < this.start ? undefined : this.#entries[number - this.#base];
  }

  /** Number of the first entry at or after a time. */
  firstAtOrAfter(time: TimeKey): number {
    let low = this.#cut;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#entries[middle] as OplogEntry).time < time) low = middle + 1;
      else high = middle;
    }
    return this.#base + low;
  }

  /** True when nothing after this time has been cut off: while the first entry ever is there, or one at or before the time. */
  reachesBackTo(time: TimeKey): boolean {
    const oldest = this.at(this.start);
    return this.start === 0 || (oldest !== undefined && oldest.time <= time);
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

  /** Waiters wake once the command that wrote has run to its end, so that they find all of its entries. */
  #scheduleWake(): void {
    if (this.#wakeScheduled) return;
    this.#wakeScheduled = true;
    setImmediate(() => {
      this.#wakeScheduled = false;
      for (const wake of [...this.#waiters]) wake();
    });
  }

  /** Cuts off the entries below a time; the last one stays. */
  loseBefore(time: TimeKey): void {
    this.#cutFront((oldest) => oldest.time < time);
  }

  #cutFront(goes: (oldest: OplogEntry) => boolean): void {
    while (this.#cut < this.#entries.length - 1) {
      const oldest = this.#entries[this.#cut] as OplogEntry;
      if (!goes(oldest)) break;
      this.#bytes -= oldest.bytes;
      this.#cut += 1;
    }
    if (this.#cut < CUT_ENTRIES_MAX) return;
    this.#entries = this.#entries.slice(this.#cut);
    this.#base += this.#cut;
    this.#cut = 0;
  }
}
