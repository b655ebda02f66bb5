import type { ApplyWatermark } from '../store/apply-watermark.js';
import type { ByteBudget } from '../store/byte-budget.js';
import { ownedEvent } from '../store/owned-event.js';
import type { RereadSet } from '../store/reread-set.js';
import { Condition } from '../store/condition.js';
import { EventQueue } from './event-queue.js';
import { sendBatch, type BatchDestination } from './send-batch.js';
import { composeBatch, type RoutedEvent, type WriteBatch } from './write-batch.js';

/** What lanes share. */
export interface ApplyWorkerDependencies extends BatchDestination {
  rereads: RereadSet;
  budget: ByteBudget;
  applyWatermark: ApplyWatermark;
  /** Signalled after every finished wave. */
  progressed: Condition;
  onApplied(events: number): void;
}

/** Applies the events of its id classes in waves, one wave at a time. */
export class ApplyWorker {
  readonly #queue = new EventQueue();
  readonly #filled = new Condition();
  /** Events of collections that the share has let go of, by UUID: they wait until it takes them up again. */
  readonly #aside = new Map<string, EventQueue>();
  #inFlight: WriteBatch | null = null;

  constructor(private readonly deps: ApplyWorkerDependencies) {}

  push(routed: RoutedEvent): void {
    const aside = this.#aside.get(routed.collection.uuid);
    if (aside === undefined) this.#queue.push(routed);
    else aside.push(ownedRouted(routed));
    this.#filled.changed();
  }

  /** Puts events of one collection before all others of the lane: what a repair has held. */
  pushFirst(routed: readonly RoutedEvent[]): void {
    const aside = this.#aside.get(routed[0]?.collection.uuid ?? '');
    (aside ?? this.#queue).pushFirst(routed);
    this.#filled.changed();
  }

  /** Sets the waiting events of a collection aside, and those that come. */
  park(uuid: string): void {
    if (this.#aside.has(uuid)) return;
    const aside = new EventQueue();
    for (const routed of this.#queue.takeOut(uuid)) aside.push(ownedRouted(routed));
    this.#aside.set(uuid, aside);
  }

  /** Lets what was set aside go on, in order. */
  resume(uuid: string): void {
    const aside = this.#aside.get(uuid);
    this.#aside.delete(uuid);
    for (const routed of aside ?? []) this.push(routed);
  }

  /** Forgets what was set aside; what comes is set aside as before. */
  forget(uuid: string): void {
    const aside = this.#aside.get(uuid);
    if (aside === undefined) return;
    for (const { event } of aside) this.deps.budget.give(event.bytes);
    this.#aside.set(uuid, new EventQueue());
  }

  /** Whether statements for the collection are under way. */
  isSending(uuid: string): boolean {
    return this.#inFlight?.items.some(({ collection }) => collection.uuid === uuid) ?? false;
  }

  /** Time of the earliest event whose effect is not durable yet, or null. */
  oldest(): bigint | null {
    const aside = [...this.#aside.values()].map((queue) => queue.oldest);
    return [this.oldestMoving(), ...aside].reduce(earlier, null);
  }

  /** The same without what was set aside. */
  oldestMoving(): bigint | null {
    const inFlight = this.#inFlight === null || this.#inFlight.events.length === 0 ? null : this.#inFlight.first;
    return earlier(inFlight, this.#queue.oldest);
  }

  /** Works until the stop signal, finishing the wave in flight; rejects when a wave fails for good. */
  async run(stop: AbortSignal, hard: AbortSignal): Promise<void> {
    for (;;) {
      await this.#filled.until(() => this.#queue.length > 0, stop);
      await this.#next(hard);
    }
  }

  async #next(hard: AbortSignal): Promise<void> {
    const batch = composeBatch(this.#queue, this.deps);
    this.#inFlight = batch;
    await Promise.all([this.#send(batch, hard), batch.rereadRequestsDurable]);
    this.#inFlight = null;
    for (const { event } of batch.events) this.deps.budget.give(event.bytes);
    this.deps.onApplied(batch.events.length);
    this.deps.progressed.changed();
  }

  async #send(batch: WriteBatch, hard: AbortSignal): Promise<void> {
    if (batch.items.length === 0) return;
    await this.deps.applyWatermark.cover(batch.last);
    await this.deps.rereads.add(await sendBatch(batch, this.deps, hard));
  }
}

/** What is set aside waits while the events around it go on. */
function ownedRouted(routed: RoutedEvent): RoutedEvent {
  return { ...routed, event: ownedEvent(routed.event) };
}

/** The smaller of two times, of which either may be missing. */
export function earlier(a: bigint | null, b: bigint | null): bigint | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}
