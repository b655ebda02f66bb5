import { type ByteBudget, Condition } from '../async/waiting.js';
import { idClass } from '../bson/id.js';
import { type ChangeEvent, ownedEvent } from '../store/change-event.js';
import type { PartitionTable } from '../store/partition-table.js';
import type { Partition } from '../store/partition.js';
import type { SyncedCollection, SyncedCollections } from '../store/synced-collection.js';
import type { ReplayBounds } from './action.js';
import type { ApplyWorkers } from './apply-workers.js';
import type { StreamStep } from './change-stream-reader.js';
import { parseEvent, type StreamEvent } from './event.js';
import { EventsAhead, type StreamLateWrites } from './events-ahead.js';
import type { RecentWrites } from './recent-writes.js';
import type { EventPurpose, RoutedEvent } from './write-batch.js';

export interface EventDispatcherDependencies {
  collections: SyncedCollections;
  tables: ReadonlyMap<string, PartitionTable>;
  applyWorkers: Pick<ApplyWorkers, 'push'>;
  budget: ByteBudget;
  /** Events up to this time may have been applied before a restart. */
  sentUpTo: bigint;
  /** Called for changes of an included collection that the task does not follow; the event is dropped. */
  onUnknownCollection: (database: string, name: string, event: ChangeEvent) => void;
  /** Counts changes of migrated data as they are read. */
  recentWrites?: RecentWrites;
  /** Whether the migration includes this namespace. */
  filter: { includes(database: string, name: string): boolean };
}

/**
 * Dispatches every event of one shard's stream: to an apply worker, to the buffer of the partition that is being
 * copied, or nowhere, because a later or finished copy includes it. A step is routed synchronously, so that the routed
 * position never lies between two of its events.
 */
export class EventDispatcher {
  /** The largest time up to which every event is routed. */
  #position: bigint;
  #commitTime: bigint | null = null;
  /** Nothing later is routed: the commit time, or the latest event routed before it was known. */
  #routesUpTo: bigint | null = null;
  #isSealed = false;
  /** Nothing at or above it is routed: DDL changes there may not be known yet. */
  #ddlWatermark: bigint;
  readonly #ahead: EventsAhead;
  #readBelow: bigint;
  /** Late writes that were routed before the commit time was known. */
  #lateRouted = 0;
  /** Time of the latest routed change of migrated data. */
  #lastWrite: bigint;
  /** Time of the latest routed event. */
  #latest = 0n;
  /** Events up to this time may have been applied: by an earlier process, or before the cursor was reopened. */
  #replayedUpTo: bigint;
  #bounds: ReplayBounds = { watermark: 0n, readEnd: null };
  #sourceTime = 0n;
  readonly moved = new Condition();

  constructor(
    private readonly deps: EventDispatcherDependencies,
    private readonly startAt: bigint,
    lastWrite: bigint,
  ) {
    this.#lastWrite = lastWrite;
    this.#ahead = new EventsAhead(deps.budget);
    this.#position = startAt - 1n;
    this.#ddlWatermark = startAt;
    this.#readBelow = startAt;
    this.#replayedUpTo = deps.sentUpTo;
  }

  get position(): bigint {
    return this.#position;
  }

  /** Time of the latest routed event, dropped ones included. */
  get latest(): bigint {
    return this.#latest;
  }

  /** Everything below is read, though not necessarily routed. */
  get readBelow(): bigint {
    return this.#readBelow;
  }

  /** Whether this process has read a position from the stream, even when nothing may be routed yet. */
  get heard(): boolean {
    return this.#readBelow > this.startAt;
  }

  /** The latest known operation time of the source. */
  get sourceTime(): bigint {
    return this.#sourceTime > this.#readBelow ? this.#sourceTime : this.#readBelow;
  }

  /** Time of the latest routed change of migrated data, by this process or an earlier one. */
  get lastWrite(): bigint {
    return this.#lastWrite;
  }

  /** Late writes, as far as they are read. */
  get lateWrites(): StreamLateWrites {
    if (this.#commitTime === null) return { writes: 0, createsAndDrops: 0, deletedIn: new Set() };
    const waiting = this.#ahead.lateWrites(this.#commitTime);
    return { ...waiting, writes: this.#lateRouted + waiting.writes };
  }

  /**
   * Whether all events that may have been applied before a restart are read again: then late writes are counted.
   */
  get isReadAgain(): boolean {
    return this.#readBelow > this.deps.sentUpTo;
  }

  /** Whether all events that may have been applied before a restart are routed again, up to the commit time. */
  get isRoutedAgain(): boolean {
    return this.#position >= this.deps.sentUpTo || (this.#routesUpTo !== null && this.#position >= this.#routesUpTo);
  }

  /**
   * Sets the commit time: nothing later is routed until a later one is set. Later events already routed count as late.
   */
  setCommitTime(time: bigint): void {
    if (this.#commitTime !== null && time <= this.#commitTime) return;
    if (this.#isSealed) throw new Error('a commit time above the sealed one');
    this.#commitTime = time;
    this.#routesUpTo = time > this.#latest ? time : this.#latest;
    this.#lateRouted = this.#lastWrite > time ? 1 : 0;
    this.#routeAhead();
    this.#advance();
  }

  /** No later commit time follows: later events are only counted. They come for as long as servers expire. */
  seal(): void {
    if (this.#routesUpTo === null) return;
    this.#isSealed = true;
    this.#ahead.countLate(this.#routesUpTo);
  }

  /** Raises the DDL watermark: all DDL changes below it are known and handled. A smaller time changes nothing. */
  setDdlWatermark(time: bigint): void {
    if (time <= this.#ddlWatermark) return;
    this.#ddlWatermark = time;
    this.#routeAhead();
    this.#advance();
  }

  /** Whether all DDL changes up to a time are known and handled. */
  knows(time: bigint): boolean {
    return this.#ddlWatermark > time;
  }

  /** Whether they are up to the commit time; the leader reports no later ones. */
  get knowsAllToCommit(): boolean {
    return this.#commitTime !== null && this.#ddlWatermark > this.#commitTime;
  }

  /** Routes one step of the stream. */
  route(step: StreamStep): void {
    if (step.reopened) this.#expectAgain(this.#readBelow);
    this.#readBelow = step.readBelow;
    if (step.sourceTime > this.#sourceTime) this.#sourceTime = step.sourceTime;
    this.deps.recentWrites?.beginStep(this.sourceTime);
    for (const bytes of step.events) this.#routeOrKeep(bytes);
    this.#advance();
  }

  /** Dispatches the buffered events of a partition again. */
  release(table: PartitionTable, events: readonly ChangeEvent[]): void {
    for (const event of events) this.#place(event, table.collection, true);
  }

  /** Prepares a buffered event of a re-read document for its apply worker. */
  routedAfterReread(event: ChangeEvent, collection: SyncedCollection): RoutedEvent {
    return this.#routed(event, collection, null, 'apply');
  }

  /** The latest time that may be routed. */
  #latestRoutable(): bigint {
    const below = this.#ddlWatermark - 1n;
    return this.#routesUpTo !== null && this.#routesUpTo < below ? this.#routesUpTo : below;
  }

  #routeOrKeep(bytes: Uint8Array): void {
    const event = parseEvent(bytes);
    if (event.kind === 'data') this.#countWrite(event);
    if (this.#ahead.length === 0 && event.event.time <= this.#latestRoutable()) this.#routeOne(event);
    else if (this.#isOfInterest(event))
      this.#ahead.push(event, event.kind === 'data' ? event.event.bytes : bytes.length, this.#isWrite(event));
  }

  #countWrite(change: Extract<StreamEvent, { kind: 'data' }>): void {
    const { recentWrites, collections } = this.deps;
    if (recentWrites === undefined || !this.#isWrite(change)) return;
    const collection = collections.get(change.event.uuid);
    // A shard's own stream shows every write once; through a router every task sees all.
    if (collection === undefined || collection.readBy === 'uuid' || isOwned(change.event, collection))
      recentWrites.count(change.database, change.name, change.event.time);
  }

  /** Excluded collections may be written at any rate while a commit waits: their events must not fill the budget. */
  #isOfInterest(event: StreamEvent): boolean {
    return this.#isWrite(event) || (event.kind === 'data' && this.deps.collections.has(event.event.uuid));
  }

  #routeAhead(): void {
    const latest = this.#latestRoutable();
    for (let event = this.#ahead.shift(latest); event !== null; event = this.#ahead.shift(latest))
      this.#routeOne(event);
  }

  /** Ignores DDL events: they come from the journal, since a task's stream shows only its own shard's part of them. */
  #routeOne(routed: StreamEvent): void {
    if (routed.event.time > this.#latest) this.#latest = routed.event.time;
    if (routed.kind === 'data') this.#routeData(routed.event, routed.database, routed.name);
  }

  /** Also a rename from elsewhere: `$out` and `convertToCapped` replace a collection by one of their own. */
  #isWrite(event: StreamEvent): boolean {
    const { database, name } = event.kind === 'data' ? event : event.event;
    if (this.#isIncluded(database, name)) return true;
    const to = event.kind === 'data' ? null : event.event.to;
    return to !== null && this.#isIncluded(to.database, to.name);
  }

  /** Internal events of a shard (kNewShardDetected) have no namespace and are no writes. */
  #isIncluded(database: string, name: string): boolean {
    return database !== '' && this.deps.filter.includes(database, name);
  }

  /** Streams resume by time, so that events at that time come a second time. */
  #expectAgain(resumedAt: bigint): void {
    if (this.#latest > this.#replayedUpTo) this.#replayedUpTo = this.#latest;
    this.#ahead.cutFrom(resumedAt);
  }

  #advance(): void {
    const read = this.#readBelow - 1n;
    // Never beyond what may be routed: a read may see a prepared transaction earlier than its event's time.
    const latest = this.#latestRoutable();
    const position = latest < read ? latest : read;
    if (position > this.#position) this.#position = position;
    this.moved.changed();
  }

  #routeData(event: ChangeEvent, database: string, name: string): void {
    const collection = this.deps.collections.get(event.uuid);
    if (collection === undefined) {
      if (this.deps.filter.includes(database, name)) this.deps.onUnknownCollection(database, name, event);
      return;
    }
    if (!isOwned(event, collection)) return;
    if (event.time > this.#lastWrite) this.#lastWrite = event.time;
    if (this.#commitTime !== null && event.time > this.#commitTime) this.#lateRouted += 1;
    this.#place(event, collection, false);
  }

  /** @param wasBuffered its bytes are counted already */
  #place(event: ChangeEvent, collection: SyncedCollection, wasBuffered: boolean): void {
    const partition = this.deps.tables.get(collection.uuid)?.find(event.id);
    if (partition === undefined) throw new Error(`no partitions of ${collection.database}.${collection.name}`);
    if (this.#placeInScan(event, collection, partition, wasBuffered)) return;
    const seen = partition.readTime !== null && event.time <= partition.readTime;
    if (partition.state === 'waiting' || (partition.state === 'starting' && seen)) {
      const removes = partition.dirty && !collection.capped && mayMove(event, collection);
      partition.raiseDropped(event.time);
      if (removes) this.#toWorker(this.#routed(event, collection, null, 'remove'), wasBuffered);
      else this.#drop(event, wasBuffered);
    } else if (seen) {
      this.#drop(event, wasBuffered);
    } else if (partition.state !== 'done') {
      if (!wasBuffered) this.deps.budget.take(event.bytes);
      partition.buffer(wasBuffered ? event : ownedEvent(event));
    } else {
      this.#toWorker(this.#routed(event, collection, partition.readEnd, 'apply'), wasBuffered);
    }
  }

  /**
   * While a partition is copied in record order, every event after its first read causes a re-read: no event shows
   * which piece of the scan holds its document.
   * @returns false when the partition is not copied so, or its scan has not begun
   */
  #placeInScan(event: ChangeEvent, collection: SyncedCollection, { scan }: Partition, wasBuffered: boolean): boolean {
    const from = scan?.from ?? null;
    if (from === null) return false;
    if (event.time <= from) this.#drop(event, wasBuffered);
    else this.#toWorker(this.#routed(event, collection, null, 'reread'), wasBuffered);
    return true;
  }

  #routed(
    event: ChangeEvent,
    collection: SyncedCollection,
    readEnd: bigint | null,
    purpose: EventPurpose,
  ): RoutedEvent {
    return {
      event,
      collection,
      workerClass: idClass(event.id, collection.collated),
      bounds: this.#boundsUpTo(readEnd),
      purpose,
    };
  }

  /** Reuses the object: neighbouring events mostly have the same bounds. */
  #boundsUpTo(readEnd: bigint | null): ReplayBounds {
    const watermark = this.#replayedUpTo;
    if (this.#bounds.watermark !== watermark || this.#bounds.readEnd !== readEnd) this.#bounds = { watermark, readEnd };
    return this.#bounds;
  }

  #drop(event: ChangeEvent, wasBuffered: boolean): void {
    if (wasBuffered) this.deps.budget.give(event.bytes);
  }

  #toWorker(routed: RoutedEvent, wasBuffered: boolean): void {
    if (!wasBuffered) this.deps.budget.take(routed.event.bytes);
    this.deps.applyWorkers.push(routed);
  }
}

/** Whether a change may leave a document of an earlier attempt under a key that the next one does not write. */
function mayMove({ operation }: ChangeEvent, { isSeries }: SyncedCollection): boolean {
  return operation !== 'insert' && !(isSeries === true && operation === 'update');
}

/** A shard reports the full document key of every change except inserts, whose document has it. */
function isOwned(event: ChangeEvent, collection: SyncedCollection): boolean {
  if (collection.isSeries === true) return isOwnedBucket(event, collection);
  if (event.operation !== 'insert') return collection.owns(event.documentKey, 'documentKey');
  // The event was too large: a shard reports only its own inserts, and through a router tasks own ranges of `_id`.
  if (event.fullDocument === null)
    return collection.readBy === 'uuid' || collection.owns(event.documentKey, 'documentKey');
  return collection.owns(event.fullDocument, 'document');
}

/**
 * The key of a bucket that took more measurements is its `_id` alone (seen on 8.0.10): every task that hears of it
 * reads the bucket again, and writes it if it owns what it has read.
 */
function isOwnedBucket({ operation, documentKey, fullDocument }: ChangeEvent, collection: SyncedCollection): boolean {
  if (operation === 'update') return true;
  if (fullDocument !== null) return collection.owns(fullDocument, 'document');
  return collection.owns(documentKey, 'documentKey');
}
