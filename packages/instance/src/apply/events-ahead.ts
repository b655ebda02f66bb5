import type { ByteBudget } from '../store/byte-budget.js';
import type { StreamEvent } from './event.js';

/** Entries before the head that are kept before the array is cut: cutting every time would move all that wait. */
const cutAt = 4096;

/** An event that was read and may not be routed yet. */
interface EventAhead {
  event: StreamEvent;
  bytes: number;
  /** It is a change of migrated data or of its definitions. */
  isWrite: boolean;
}

/** What of the events that wait is above a time. */
export interface WritesAbove {
  /** Changes of migrated data or of its definitions, deletes of documents left out. */
  readonly writes: number;
  /** UUIDs of the collections of which documents were deleted: by users, or by their age. */
  readonly deletedIn: ReadonlySet<string>;
}

/**
 * Events that were read ahead of what may be routed, in order: at or above the horizon, or above the commit time.
 * Their bytes count in the budget of the share. What came in one reply waits together, so that the views keep little else.
 */
export class EventsAhead {
  #events: (EventAhead | undefined)[] = [];
  #head = 0;

  constructor(private readonly budget: ByteBudget) {}

  get length(): number {
    return this.#events.length - this.#head;
  }

  push(event: StreamEvent, bytes: number, isWrite: boolean): void {
    this.#events.push({ event, bytes, isWrite });
    this.budget.take(bytes);
  }

  /** Takes the first event out when its time is at most `limit`; null when there is none. */
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

  /** Forgets the events at and after a time, which are read once more. */
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

  /** Those of them that are writes above a time. */
  writesAbove(time: bigint): WritesAbove {
    let writes = 0;
    const deletedIn = new Set<string>();
    for (let index = this.#head; index < this.#events.length; index += 1) {
      const ahead = this.#events[index];
      if (ahead?.isWrite !== true || ahead.event.event.time <= time) continue;
      if (ahead.event.kind === 'data' && ahead.event.event.operation === 'delete')
        deletedIn.add(ahead.event.event.uuid);
      else writes += 1;
    }
    return { writes, deletedIn };
  }
}
