import { runTogether } from '../store/run-together.js';
import { earlier, Lane, type LaneContext } from './lane.js';
import type { RoutedEvent } from './wave.js';

/** Several lanes at once; all events of one id class go to the same lane. */
export class Lanes {
  readonly #lanes: Lane[];

  constructor(
    count: number,
    private readonly context: LaneContext,
  ) {
    this.#lanes = Array.from({ length: count }, () => new Lane(context));
  }

  push(routed: RoutedEvent): void {
    this.#laneOf(routed).push(routed);
  }

  /** Lets events of one id class that a repair has held go on, before everything that came after them. */
  pushFirst(routed: readonly RoutedEvent[]): void {
    const first = routed[0];
    if (first !== undefined) this.#laneOf(first).pushFirst(routed);
  }

  /** Sets the waiting events of a collection aside, and those that come; they still count as not durable. */
  setAside(uuid: string): void {
    for (const lane of this.#lanes) lane.setAside(uuid);
  }

  /** Lets what was set aside go on, in order. */
  takeUp(uuid: string): void {
    for (const lane of this.#lanes) lane.takeUp(uuid);
    this.context.progressed.changed();
  }

  /** Forgets what was set aside; what comes is set aside as before. */
  forget(uuid: string): void {
    for (const lane of this.#lanes) lane.forget(uuid);
    this.context.progressed.changed();
  }

  /** Resolves once no statement for the collection is under way. */
  async answered(uuid: string, signal: AbortSignal): Promise<void> {
    await this.context.progressed.until(() => !this.#lanes.some((lane) => lane.isSending(uuid)), signal);
  }

  /** Time of the earliest event whose effect is not durable yet, or null when there is none. */
  oldest(): bigint | null {
    return this.#lanes.map((lane) => lane.oldest()).reduce(earlier, null);
  }

  /** Resolves once every event up to `time` that was pushed before, and not set aside, is durable. */
  async flushed(time: bigint, signal: AbortSignal): Promise<void> {
    await this.context.progressed.until(() => {
      const oldest = this.#lanes.map((lane) => lane.oldestMoving()).reduce(earlier, null);
      return oldest === null || oldest > time;
    }, signal);
  }

  /** Runs all lanes until the stop signal; rejects with the first failure. */
  async run(stop: AbortSignal, hard: AbortSignal): Promise<void> {
    await runTogether(stop, this.#lanes.map((lane) => (signal) => lane.run(signal, hard)));
  }

  #laneOf({ collection, laneClass }: RoutedEvent): Lane {
    const name = collection.capped ? collection.uuid : laneClass;
    const lane = this.#lanes[hashText(name) % this.#lanes.length];
    if (lane === undefined) throw new Error('there are no lanes');
    return lane;
  }
}

/** FNV-1a over UTF-16 units: spreads classes over lanes. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return hash >>> 0;
}
