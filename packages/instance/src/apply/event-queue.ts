import type { RoutedEvent, WaitingEvents } from './write-batch.js';

/** Dropped entries before the arrays are cut: cutting every time would move the whole queue. */
const cutAt = 4096;

/**
 * The waiting events of an apply worker, first in first out, with the earliest time among them. Events that a copy or a
 * re-read has buffered arrive late, so that the first event is not always the earliest.
 */
export class EventQueue implements WaitingEvents {
  /** A dropped event leaves `undefined`, so that its bytes are free at once. */
  #events: (RoutedEvent | undefined)[] = [];
  #head = 0;
  /** The waiting events without an earlier time behind them, in order: the first is the earliest of all. */
  #earliest: (RoutedEvent | undefined)[] = [];
  #earliestHead = 0;
  #bytes = 0;

  /** Memory of the waiting events. */
  get bytes(): number {
    return this.#bytes;
  }

  get length(): number {
    return this.#events.length - this.#head;
  }

  /** Time of the earliest waiting event, or null when none waits. */
  get oldest(): bigint | null {
    return this.#earliest[this.#earliestHead]?.event.time ?? null;
  }

  *[Symbol.iterator](): Iterator<RoutedEvent> {
    for (let index = this.#head; index < this.#events.length; index += 1) {
      const routed = this.#events[index];
      if (routed !== undefined) yield routed;
    }
  }

  push(routed: RoutedEvent): void {
    this.#events.push(routed);
    this.#bytes += routed.event.bytes;
    for (let last = this.#earliest.length - 1; last >= this.#earliestHead; last -= 1) {
      if ((this.#earliest[last]?.event.time ?? 0n) <= routed.event.time) break;
      this.#earliest.pop();
    }
    this.#earliest.push(routed);
  }

  /** Adds events before all others. */
  pushFirst(routed: readonly RoutedEvent[]): void {
    const later = [...this];
    this.#clear();
    for (const one of routed) this.push(one);
    for (const one of later) this.push(one);
  }

  /** Removes and returns the events of one collection, in order. */
  takeOut(uuid: string): RoutedEvent[] {
    const all = [...this];
    this.#clear();
    const taken: RoutedEvent[] = [];
    for (const routed of all) {
      if (routed.collection.uuid === uuid) taken.push(routed);
      else this.push(routed);
    }
    return taken;
  }

  /** Removes events from the front. */
  drop(count: number): void {
    for (let left = count; left > 0; left -= 1) {
      if (this.#earliest[this.#earliestHead] === this.#events[this.#head]) {
        this.#earliest[this.#earliestHead] = undefined;
        this.#earliestHead += 1;
      }
      this.#bytes -= this.#events[this.#head]?.event.bytes ?? 0;
      this.#events[this.#head] = undefined;
      this.#head += 1;
    }
    if (this.#head >= cutAt || this.length === 0) this.#cut();
  }

  #clear(): void {
    this.#events = [];
    this.#earliest = [];
    this.#head = 0;
    this.#earliestHead = 0;
    this.#bytes = 0;
  }

  #cut(): void {
    this.#events.splice(0, this.#head);
    this.#earliest.splice(0, this.#earliestHead);
    this.#head = 0;
    this.#earliestHead = 0;
  }
}
