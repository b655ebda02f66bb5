import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Binary, Document, Timestamp } from 'mongodb';
import { compareRaw } from '../bson/order.js';
import { maxKey, minKey, ownedValue, type RawValue } from '../bson/scan.js';
import { restoredValue, storedValue } from '../bson/sent-value.js';
import { restoredTime, storedTime } from '../cluster/cluster-time.js';
import type { ChangeEvent } from './change-event.js';
import { RecordScan, type RecordToken } from './record-scan.js';

/**
 * `waiting`: events are dropped, and the next copy includes them. `starting`: the read time is set, later events are
 * buffered. `copying`: everything up to the read time is routed. `done`: all documents are durable.
 */
export type PartitionState = 'waiting' | 'starting' | 'copying' | 'done';

/** A range of `_id`, from `lower` (inclusive) to `upper` (exclusive, or MaxKey inclusive). */
export interface IdRange {
  readonly lower: RawValue;
  readonly upper: RawValue;
}

/** All `_id`s. */
export const wholeRange: IdRange = { lower: minKey, upper: maxKey };

/**
 * A range of `_id` of one collection, and the state of its copy. Its methods are the only transitions: `start`,
 * `startCopying`, `close` and `finish` lead from waiting to done, `abandon` and `endPiece` back to waiting, and
 * `startReopening`, `reopen` and `finishReopening` from done to waiting. Each checks what holds before and after it: a
 * process that has lost count of its own partitions must not go on, since it might lose documents.
 */
export class Partition implements IdRange {
  #upper: RawValue;
  #state: PartitionState = 'waiting';
  #dirty = false;
  #readTime: bigint | null = null;
  #readEnd: bigint | null = null;
  #dropped = 0n;
  #bytes = 0;
  #documents = 0;
  #closing = false;
  #reopening = false;
  #leaving = false;
  #buffered: ChangeEvent[] = [];
  #scan: RecordScan | null;

  private constructor(
    readonly lower: RawValue,
    upper: RawValue,
    scan: RecordScan | null = null,
  ) {
    this.#upper = upper;
    this.#scan = scan;
  }

  /** @param scan of a partition that is copied in record order */
  static waiting({ lower, upper }: IdRange, scan: RecordScan | null = null): Partition {
    return new Partition(lower, upper, scan);
  }

  /** A partition that needs no copy: everything up to `readTime` is on the destination. */
  static copied(range: IdRange, readTime: bigint): Partition {
    const partition = Partition.waiting(range);
    partition.#state = 'done';
    partition.#readTime = readTime;
    partition.#check();
    return partition;
  }

  /** The partition as stored. One that was being copied waits again. */
  static restored(stored: Document): Partition {
    const partition = new Partition(
      restoredValue(stored.lower as Binary),
      restoredValue(stored.upper as Binary),
      stored.scan === undefined ? null : RecordScan.restored(stored.scan as Document),
    );
    partition.#countScanned();
    partition.#dirty = Boolean(stored.dirty);
    partition.#readTime = restoredTime(stored.readTime as Timestamp | null);
    partition.#readEnd = restoredTime(stored.readEnd as Timestamp | null);
    if (stored.state !== 'done') return partition;
    partition.#state = 'done';
    partition.#documents = Number(stored.documents);
    partition.#bytes = Number(stored.bytes);
    partition.#check();
    return partition;
  }

  get upper(): RawValue {
    return this.#upper;
  }

  get state(): PartitionState {
    return this.#state;
  }

  /** True from before the first write of an attempt until the partition is done. */
  get dirty(): boolean {
    return this.#dirty;
  }

  /** The one time the partition is (or was) read at; null before the first attempt. */
  get readTime(): bigint | null {
    return this.#readTime;
  }

  /** The shard's operation time when the read ended: the copy may include prepared transactions up to it. */
  get readEnd(): bigint | null {
    return this.#readEnd;
  }

  /** The latest event of the range dropped because the next read includes it: that read may not be earlier. */
  get dropped(): bigint {
    return this.#dropped;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get documents(): number {
    return this.#documents;
  }

  /** All documents are acknowledged: stored as done, while events are still buffered. */
  get closing(): boolean {
    return this.#closing;
  }

  /** Stored as waiting and dirty. The copy does not start before the documents to re-read of the range are removed. */
  get reopening(): boolean {
    return this.#reopening;
  }

  /** How far the copy in record order is; null for a copy in `_id` order, and once the partition is done. */
  get scan(): RecordScan | null {
    return this.#scan;
  }

  /** Events later than `readTime`, in order, while starting and copying. */
  get buffered(): readonly ChangeEvent[] {
    return this.#buffered;
  }

  /** Starts an attempt: later events are buffered from now on. */
  start(readTime: bigint): void {
    this.#must(this.#state === 'waiting' && !this.#reopening && !this.#leaving, 'only a waiting one is started');
    this.#must(readTime >= (this.#readTime ?? 0n), 'it is not read earlier than before');
    this.#must(readTime >= this.#dropped, 'its read includes every dropped event');
    this.#readTime = readTime;
    this.#scan?.startPiece(readTime);
    this.#countScanned();
    this.#state = 'starting';
    this.#check();
  }

  /** Forgets the documents of an attempt without result. */
  #countScanned(): void {
    this.#bytes = this.#scan?.copied.bytes ?? 0;
    this.#documents = this.#scan?.copied.documents ?? 0;
  }

  /** Ends a piece of a copy in record order: all its documents are acknowledged, and the next piece waits. */
  endPiece(tokens: readonly RecordToken[]): void {
    this.#must(this.#state === 'copying' && !this.#closing && this.#scan !== null, 'a piece ends while it is copied');
    this.#scan?.endPiece(tokens, { documents: this.#documents, bytes: this.#bytes });
    this.#state = 'waiting';
    this.#check();
  }

  /** From now on the durable form is one of a copy in `_id` order, dirty; events cause re-reads as before. */
  startLeaving(): void {
    this.#must(this.#state === 'waiting' && this.#scan !== null, 'only a waiting one leaves record order');
    this.#leaving = true;
    this.#check();
  }

  /** The durable form has no scan. The next attempt is one in `_id` order, which replaces what the destination has. */
  leaveRecordOrder(): void {
    this.#must(this.#leaving, 'it leaves record order once that is stored');
    this.#scan = null;
    this.#leaving = false;
    this.#dirty = true;
    this.#countScanned();
    this.#check();
  }

  /** Everything up to the read time is routed. */
  startCopying(): void {
    this.#must(this.#state === 'starting', 'its read time is set before it is copied');
    this.#state = 'copying';
    this.#check();
  }

  /** The destination may have documents of an unfinished attempt. */
  markDirty(): void {
    this.#must(this.#state !== 'done', 'one that is done has no attempt');
    this.#dirty = true;
  }

  /** Counts acknowledged documents. */
  wrote(documents: number, bytes: number): void {
    this.#must(this.#state === 'copying' && !this.#closing, 'documents are written while it is copied');
    this.#must(this.#dirty, 'it is dirty before its first document is written');
    this.#documents += documents;
    this.#bytes += bytes;
  }

  endReading(readEnd: bigint): void {
    this.#must(this.#readTime !== null && readEnd >= this.#readTime, 'a read does not end before its time');
    this.#readEnd = readEnd;
  }

  buffer(event: ChangeEvent): void {
    this.#must(this.#isAttempted(), 'events are buffered only during an attempt');
    this.#must(event.time > (this.#readTime ?? event.time), 'the read includes no buffered event');
    this.#buffered.push(event);
  }

  /** Empties the buffer. @returns its events, in order */
  takeBuffered(): ChangeEvent[] {
    return this.#buffered.splice(0);
  }

  /** Drops buffered events that the copy includes; if this attempt fails, the next read has to include them. */
  dropBuffered(isDropped: (event: ChangeEvent, index: number) => boolean): ChangeEvent[] {
    const dropped = this.#buffered.filter(isDropped);
    if (dropped.length > 0) this.#buffered = this.#buffered.filter((event, index) => !isDropped(event, index));
    for (const { time } of dropped) this.raiseDropped(time);
    return dropped;
  }

  /** No read may be earlier than a dropped event. */
  raiseDropped(time: bigint): void {
    this.#must(this.#state !== 'done', 'no event of one that is done is dropped for a later read');
    if (time > this.#dropped) this.#dropped = time;
  }

  /** Ends the range before `boundary`. @returns the waiting rest, which may not be read earlier than the whole range */
  splitAt(boundary: RawValue, restDirty: boolean): Partition {
    this.#must((this.#state === 'copying' || this.#state === 'waiting') && !this.#closing, 'only an open one is split');
    this.#must(
      compareRaw(this.lower, boundary) < 0 && compareRaw(boundary, this.#upper) < 0,
      'it is split between its bounds',
    );
    const rest = new Partition(ownedValue(boundary), this.#upper);
    rest.#readTime = this.#readTime;
    rest.#dropped = this.#dropped;
    rest.#dirty = restDirty;
    this.#upper = rest.lower;
    return rest;
  }

  /** Ends an attempt without result. @returns the buffered events */
  abandon(): ChangeEvent[] {
    this.#must(this.#state !== 'done' && !this.#closing, 'one that may be stored as done is not abandoned');
    this.#scan?.abandonPiece();
    this.#state = 'waiting';
    return this.#taken();
  }

  /** All documents are acknowledged: from now on the durable form is done. */
  close(): void {
    this.#must(this.#state === 'copying' && !this.#closing, 'only one that is copied is closed');
    this.#must(
      this.#readEnd !== null && this.#readEnd >= (this.#readTime ?? 0n),
      'its read has ended when it is closed',
    );
    this.#closing = true;
    this.#check();
  }

  /** The durable form is done. @returns the buffered events */
  finish(): ChangeEvent[] {
    this.#must(this.#closing, 'it is done once it is stored as closed');
    this.#state = 'done';
    this.#dirty = false;
    this.#scan = null;
    this.#closing = false;
    return this.#taken();
  }

  /** From now on the durable form is waiting and dirty. */
  startReopening(): void {
    this.#must(!this.#isAttempted() && !this.#reopening, 'no attempt is reopened, and nothing twice');
    this.#reopening = true;
    this.#check();
  }

  /** The durable form is waiting and dirty: events up to `latest` may be applied, so that no read may be earlier. */
  reopen(latest: bigint): void {
    this.#must(this.#reopening, 'it waits again once that is stored');
    this.#state = 'waiting';
    this.#dirty = true;
    this.raiseDropped(latest);
    this.#check();
  }

  /** The copy may start. */
  finishReopening(): void {
    this.#must(this.#reopening && this.#state === 'waiting' && this.#dirty, 'what is reopened waits, dirty');
    this.#reopening = false;
  }

  /** The durable form. */
  stored(): Document {
    return {
      lower: storedValue(this.lower),
      upper: storedValue(this.#upper),
      state: this.#storedState(),
      dirty: (this.#dirty || this.#reopening || this.#leaving) && !this.#closing,
      readTime: storedTime(this.#readTime),
      readEnd: storedTime(this.#readEnd),
      bytes: this.#bytes,
      documents: this.#documents,
      ...(this.#scan === null || this.#closing || this.#leaving ? {} : { scan: this.#scan.stored() }),
    };
  }

  #storedState(): PartitionState {
    if (this.#closing) return 'done';
    return this.#reopening ? 'waiting' : this.#state;
  }

  /** The buffered events at the end of an attempt. */
  #taken(): ChangeEvent[] {
    const events = this.takeBuffered();
    this.#check();
    return events;
  }

  #isAttempted(): boolean {
    return this.#state === 'starting' || this.#state === 'copying';
  }

  /** What holds between two transitions. */
  #check(): void {
    const isDone = this.#state === 'done';
    this.#must(this.#state === 'waiting' || this.#readTime !== null, 'one that is read or done has a read time');
    this.#must(this.#isAttempted() || this.#buffered.length === 0, 'events are buffered only during an attempt');
    this.#must(this.#state === 'copying' || !this.#closing, 'only one that is copied is closed');
    this.#must(!isDone || (!this.#dirty && this.#scan === null), 'one that is done is clean, without a scan');
    this.#must(!this.#isAttempted() || !(this.#reopening || this.#leaving), 'an attempt is not about to begin again');
    this.#must(!this.#leaving || this.#scan !== null, 'only a scan leaves record order');
  }

  /** @throws ConvoyError `internalError` with the broken rule, which ends the process; never with values */
  #must(holds: boolean, rule: string): void {
    if (holds) return;
    const flags = { dirty: this.#dirty, closing: this.#closing, reopening: this.#reopening, leaving: this.#leaving };
    const set = Object.entries(flags).flatMap(([name, isSet]) => (isSet ? [name] : []));
    const present = [this.#state, ...set].join(', ');
    throw new ConvoyError('internalError', `A rule of partitions is broken: ${rule}. This one is ${present}.`);
  }
}
