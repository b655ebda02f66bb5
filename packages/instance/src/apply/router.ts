import { idClass } from '../bson/id-class.js';
import type { ByteBudget } from '../store/byte-budget.js';
import type { ChangeEvent } from '../store/change-event.js';
import type { PartitionTable } from '../store/partition-table.js';
import { Signalled } from '../store/signalled.js';
import type { SyncedCollection, SyncedCollections } from '../store/synced-collection.js';
import { type DefinitionEvent, parseEvent } from './event.js';
import type { Lanes } from './lanes.js';
import type { StreamStep } from './stream.js';
import type { RoutedEvent } from './wave.js';

/** What the router asks of those around it. */
export interface RouterContext {
  collections: SyncedCollections;
  tables: ReadonlyMap<string, PartitionTable>;
  lanes: Lanes;
  budget: ByteBudget;
  /** Events up to this time may have been applied before a restart. */
  begunBefore: bigint;
  /** Called for events that are not changes of documents; throws what ends the migration. */
  onDefinition: (event: DefinitionEvent) => void;
  /** Called for changes of a collection that the share takes no part in; throws what ends the migration. */
  onUnknownCollection: (database: string, name: string, uuid: string) => void;
  /** Whether changes of this namespace count as writes to the migrated data. */
  includes: (database: string, name: string) => boolean;
}

/** An event that waits for a later ceiling. */
interface EventAbove {
  bytes: Uint8Array;
  time: bigint;
  /** 1 when it is a change of migrated data. */
  writes: number;
}

/**
 * Sends every event of one shard's stream where it belongs: to its lane, into the partition that is being copied,
 * or nowhere, because a copy still to come or already made includes it.
 * A step is routed without interruption, so that the routed position never lies between two of its events.
 */
export class Router {
  /** The largest time up to which every event has been routed. */
  #position: bigint;
  #commitTime: bigint | null = null;
  /** Nothing later is routed: the commit time, or what was routed before it was known. */
  #ceiling: bigint | null = null;
  /** Events above the ceiling, in order. */
  #above: EventAbove[] = [];
  #readBelow: bigint;
  #writesAbove = 0;
  /** Time of the latest change of migrated data that was routed. */
  #lastWrite: bigint;
  /** Time of the latest event that was routed. */
  #latest = 0n;
  /** Events up to this time may have been applied before: by an earlier process, or before the cursor was lost. */
  #replayedUpTo: bigint;
  #sourceTime = 0n;
  readonly moved = new Signalled();

  constructor(
    private readonly context: RouterContext,
    startAt: bigint,
    lastWrite: bigint,
  ) {
    this.#lastWrite = lastWrite;
    this.#position = startAt - 1n;
    this.#readBelow = startAt;
    this.#replayedUpTo = context.begunBefore;
  }

  get position(): bigint {
    return this.#position;
  }

  /** Everything below has been read, whether routed or waiting above the ceiling. */
  get readBelow(): bigint {
    return this.#readBelow;
  }

  /** The source's own latest time, as far as its answers have told. */
  get sourceTime(): bigint {
    return this.#sourceTime > this.#readBelow ? this.#sourceTime : this.#readBelow;
  }

  /** Time of the latest change of migrated data that was routed, by this process or before. */
  get lastWrite(): bigint {
    return this.#lastWrite;
  }

  /** Changes of migrated data that were seen above the commit time. */
  get writesAboveCeiling(): number {
    return this.#writesAbove;
  }

  /** Everything that may have been applied before a restart has been read again, so that writes above a ceiling are counted. */
  get readAgain(): boolean {
    return this.#readBelow > this.context.begunBefore;
  }

  /** Everything that may have been applied before a restart has been routed again, as far as it will be. */
  get replayed(): boolean {
    return this.#position >= this.context.begunBefore || (this.#ceiling !== null && this.#position >= this.#ceiling);
  }

  /** Sets the commit time: nothing later is routed until a later one is set. What was routed already counts as written above it. */
  setCeiling(time: bigint): void {
    if (this.#commitTime !== null && time <= this.#commitTime) return;
    this.#commitTime = time;
    this.#ceiling = time > this.#latest ? time : this.#latest;
    this.#writesAbove = this.#lastWrite > time ? 1 : 0;
    const waiting = this.#above;
    this.#above = [];
    for (const { bytes } of waiting) this.context.budget.give(bytes.length);
    this.#routeAll(waiting.map(({ bytes }) => bytes));
    this.#advance();
  }

  /** Routes one step of the stream. */
  route(step: StreamStep): void {
    if (step.reopened) this.#expectAgain(this.#readBelow);
    this.#readBelow = step.readBelow;
    if (step.sourceTime > this.#sourceTime) this.#sourceTime = step.sourceTime;
    this.#routeAll(step.events);
    this.#advance();
  }

  /** Lets the held events of a finished partition go on. */
  release(table: PartitionTable, events: readonly ChangeEvent[]): void {
    for (const event of events) this.#place(event, table.collection, true);
  }

  /** An event of a repaired key that goes on. */
  routedAfterRepair(event: ChangeEvent, collection: SyncedCollection): RoutedEvent {
    return this.#routed(event, collection, null, false);
  }

  #routeAll(events: readonly Uint8Array[]): void {
    for (const bytes of events) {
      const parsed = parseEvent(bytes);
      if (this.#ceiling !== null && parsed.event.time > this.#ceiling) {
        this.#keepAbove(bytes, parsed);
      } else if (parsed.kind === 'definition') {
        this.context.onDefinition(parsed.event);
      } else {
        if (parsed.event.time > this.#latest) this.#latest = parsed.event.time;
        this.#routeData(parsed.event, parsed.database, parsed.name);
      }
    }
  }

  #keepAbove(bytes: Uint8Array, parsed: ReturnType<typeof parseEvent>): void {
    const namespace = parsed.kind === 'data' ? parsed : parsed.event;
    // A shard's own notices (kNewShardDetected) name no namespace and are no writes.
    const writes = namespace.database !== '' && this.context.includes(namespace.database, namespace.name) ? 1 : 0;
    this.#above.push({ bytes, time: parsed.event.time, writes });
    this.context.budget.take(bytes.length);
    this.#writesAbove += writes;
  }

  /** Streams are resumed by time: the events of the last one that was read come a second time. */
  #expectAgain(resumedAt: bigint): void {
    if (this.#latest > this.#replayedUpTo) this.#replayedUpTo = this.#latest;
    for (let last = this.#above.at(-1); last !== undefined && last.time >= resumedAt; last = this.#above.at(-1)) {
      this.#above.pop();
      this.context.budget.give(last.bytes.length);
      this.#writesAbove -= last.writes;
    }
  }

  #advance(): void {
    const read = this.#readBelow - 1n;
    // Never beyond the ceiling: a transaction that was prepared before may be seen earlier than its event's time.
    const limit = this.#ceiling ?? read;
    const position = limit < read ? limit : read;
    if (position > this.#position) this.#position = position;
    this.moved.changed();
  }

  #routeData(event: ChangeEvent, database: string, name: string): void {
    const collection = this.context.collections.get(event.uuid);
    if (collection === undefined) {
      if (this.context.includes(database, name)) this.context.onUnknownCollection(database, name, event.uuid);
      return;
    }
    if (!isOwned(event, collection)) return;
    if (event.time > this.#lastWrite) this.#lastWrite = event.time;
    if (this.#commitTime !== null && event.time > this.#commitTime) this.#writesAbove += 1;
    this.#place(event, collection, false);
  }

  /** @param wasHeld its bytes are counted already */
  #place(event: ChangeEvent, collection: SyncedCollection, wasHeld: boolean): void {
    const partition = this.context.tables.get(collection.uuid)?.find(event.id);
    if (partition === undefined) throw new Error(`no partitions of ${collection.database}.${collection.name}`);
    const seen = partition.readTime !== null && event.time <= partition.readTime;
    if (partition.state === 'waiting' || (partition.state === 'starting' && seen)) {
      const removes = partition.dirty && !collection.capped && event.operation !== 'insert';
      if (event.time > partition.dropped) partition.dropped = event.time;
      if (removes) this.#toLane(this.#routed(event, collection, null, true), wasHeld);
      else this.#drop(event, wasHeld);
    } else if (seen) {
      this.#drop(event, wasHeld);
    } else if (partition.state !== 'done') {
      if (!wasHeld) this.context.budget.take(event.bytes);
      partition.held.push(event);
    } else {
      this.#toLane(this.#routed(event, collection, partition.readEnd, false), wasHeld);
    }
  }

  #routed(event: ChangeEvent, collection: SyncedCollection, readEnd: bigint | null, removes: boolean): RoutedEvent {
    const bounds = { begunBefore: this.#replayedUpTo, readEnd };
    return { event, collection, laneClass: idClass(event.id, collection.collated), bounds, removes };
  }

  #drop(event: ChangeEvent, wasHeld: boolean): void {
    if (wasHeld) this.context.budget.give(event.bytes);
  }

  #toLane(routed: RoutedEvent, wasHeld: boolean): void {
    if (!wasHeld) this.context.budget.take(routed.event.bytes);
    this.context.lanes.push(routed);
  }
}

/** A shard reports the whole key of every change but inserts, whose document has it. */
function isOwned(event: ChangeEvent, collection: SyncedCollection): boolean {
  if (event.operation !== 'insert' || event.fullDocument === null) return collection.owns(event.documentKey, 'documentKey');
  return collection.owns(event.fullDocument, 'document');
}
