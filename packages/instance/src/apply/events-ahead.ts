import type { ByteBudget } from '../async/waiting.js';
import type { StreamEvent } from './event.js';

/** Removed entries before the array is cut: cutting every time would move all waiting events. */
const cutAt = 4096;

/**
 * What streams show of `movePrimary`: of 8.0.10 the first three, of 5.0.7 all but the indexes. Where buckets of time
 * series are shown, so is that a shard has given away its last chunk. `moveCollection`, by the balancer too, and every
 * resharding show the last.
 */
export const shownByMoves: ReadonlySet<string> = new Set([
  'create',
  'createIndexes',
  'drop',
  'migrateLastChunkFromShard',
  'reshardCollection',
]);

/** An event that is read but may not be routed yet. */
interface EventAhead {
  event: StreamEvent;
  bytes: number;
  /** A change of migrated data, or a DDL change of it. */
  isWrite: boolean;
}

/** Late writes as a task's stream shows them: changes after the commit time. */
export interface StreamLateWrites {
  /** Changes of migrated data and DDL changes of it, without the two below. */
  readonly writes: number;
  /**
   * Creations and drops of collections, creations of indexes, and reshardings: by users, or because a database or a
   * collection moves to another shard. A database's new shard creates the collections with their indexes; from 6.0 on
   * streams show both.
   */
  readonly createsAndDrops: number;
  /** UUIDs of the collections with deletes, by users or by TTL. */
  readonly deletedIn: ReadonlySet<string>;
}

/** `StreamLateWrites` while it is being counted. */
interface Counts {
  writes: number;
  createsAndDrops: number;
  deletedIn: Set<string>;
}

/**
 * Events that are read but may not be routed yet, in order: at or above the DDL watermark, or after the commit time.
 * Their bytes count in the task's budget. Events of one reply wait together, so that their views waste little memory.
 */
export class EventsAhead {
  #events: (EventAhead | undefined)[] = [];
  #head = 0;
  /** Later events are never routed: they are counted, and do not wait. Null while any may still be routed. */
  #countsAfter: bigint | null = null;
  #counted: Counts = { writes: 0, createsAndDrops: 0, deletedIn: new Set() };

  constructor(private readonly budget: ByteBudget) {}

  get length(): number {
    return this.#events.length - this.#head;
  }

  push(event: StreamEvent, bytes: number, isWrite: boolean): void {
    if (this.#countsAfter !== null && event.event.time > this.#countsAfter) {
      if (isWrite) countWrite(this.#counted, event);
      return;
    }
    this.#events.push({ event, bytes, isWrite });
    this.budget.take(bytes);
  }

  /** Removes and returns the first event when its time is at most `limit`; null otherwise. */
  shift(limit: bigint): StreamEvent | null {
    const first = this.#events[this.#head];
    if (first === undefined || first.event.event.time > limit) return null;
    this.#events[this.#head] = undefined;
    this.#head += 1;
    if (this.#head >= cutAt || this.length === 0) {
      this.#events.splice(0, this.#head);
      this.#head = 0;
    }
    this.budget.give(first.bytes);
    return first.event;
  }

  /** Drops the events at and after a time, which the stream shows again. */
  cutFrom(time: bigint): void {
    for (
      let last = this.#events.at(-1);
      last !== undefined && last.event.event.time >= time;
      last = this.#events.at(-1)
    ) {
      this.#events.pop();
      this.budget.give(last.bytes);
    }
  }

  /**
   * From here on the events after the commit time are only counted: their memory would fill the budget. Events that
   * the stream shows again count twice.
   */
  countLate(commitTime: bigint): void {
    this.#counted = this.lateWrites(commitTime);
    this.#countsAfter = commitTime;
    this.cutFrom(commitTime + 1n);
  }

  /** The writes after a commit time. */
  lateWrites(commitTime: bigint): Counts {
    const counts = { ...this.#counted, deletedIn: new Set(this.#counted.deletedIn) };
    for (let index = this.#head; index < this.#events.length; index += 1) {
      const ahead = this.#events[index];
      if (ahead?.isWrite === true && ahead.event.event.time > commitTime) countWrite(counts, ahead.event);
    }
    return counts;
  }
}

function countWrite(counts: Counts, { kind, event }: StreamEvent): void {
  if (kind === 'data' && event.operation === 'delete') counts.deletedIn.add(event.uuid);
  else if (shownByMoves.has(event.operation)) counts.createsAndDrops += 1;
  else counts.writes += 1;
}
