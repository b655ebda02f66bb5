import type { Begun } from '../store/begun.js';
import type { ByteBudget } from '../store/byte-budget.js';
import type { FencedWriter } from '../store/fenced-writer.js';
import type { RepairSet } from '../store/repair-set.js';
import { Signalled } from '../store/signalled.js';
import { EventQueue } from './event-queue.js';
import { sendWave } from './send-wave.js';
import { composeWave, type RoutedEvent, type Wave } from './wave.js';

/** What lanes share. */
export interface LaneContext {
  writer: FencedWriter;
  repairs: RepairSet;
  budget: ByteBudget;
  begun: Begun;
  /** Signalled after every finished wave. */
  progressed: Signalled;
  onApplied(events: number): void;
}

/** Applies the events of its id classes in waves, one wave at a time. */
export class Lane {
  readonly #queue = new EventQueue();
  readonly #filled = new Signalled();
  #inFlight: Wave | null = null;

  constructor(private readonly context: LaneContext) {}

  push(routed: RoutedEvent): void {
    this.#queue.push(routed);
    this.#filled.changed();
  }

  /** Puts events before all others of the lane: what a repair has held. */
  pushFirst(routed: readonly RoutedEvent[]): void {
    this.#queue.pushFirst(routed);
    this.#filled.changed();
  }

  /** Time of the earliest event whose effect is not durable yet, or null. */
  oldest(): bigint | null {
    const inFlight = this.#inFlight === null || this.#inFlight.events.length === 0 ? null : this.#inFlight.first;
    const waiting = this.#queue.oldest;
    if (inFlight === null || waiting === null) return inFlight ?? waiting;
    return waiting < inFlight ? waiting : inFlight;
  }

  /** Works until the stop signal, finishing the wave in flight; rejects when a wave fails for good. */
  async run(stop: AbortSignal, hard: AbortSignal): Promise<void> {
    for (;;) {
      await this.#filled.until(() => this.#queue.length > 0, stop);
      await this.#next(hard);
    }
  }

  async #next(hard: AbortSignal): Promise<void> {
    const wave = composeWave(this.#queue, this.context);
    this.#inFlight = wave;
    await Promise.all([this.#send(wave, hard), wave.doubtsDurable]);
    this.#inFlight = null;
    for (const { event } of wave.events) this.context.budget.give(event.bytes);
    this.context.onApplied(wave.events.length);
    this.context.progressed.changed();
  }

  async #send(wave: Wave, hard: AbortSignal): Promise<void> {
    if (wave.items.length === 0) return;
    await this.context.begun.cover(wave.last);
    await this.context.repairs.add(await sendWave(wave, this.context.writer, hard));
  }
}
