import type { Clock } from '../async/clock.js';
import type { ApplyWatermark } from '../store/apply-watermark.js';
import { type ByteBudget, Condition } from '../async/waiting.js';
import { ownedEvent } from '../store/owned-event.js';
import type { RereadSet } from '../store/reread-set.js';
import { EventQueue } from './event-queue.js';
import { type HotDocument, HotDocuments } from './hot-documents.js';
import { type BatchDestination, sendBatch } from './send-batch.js';
import { composeBatch, type RoutedEvent, type WriteBatch } from './write-batch.js';

export interface ApplyWorkerDependencies extends BatchDestination {
  rereads: RereadSet;
  budget: ByteBudget;
  applyWatermark: ApplyWatermark;
  /** Signalled after every finished batch. */
  progressed: Condition;
  clock: Pick<Clock, 'monotonic_ms'>;
  onApplied(events: number): void;
}

/** Applies the events of its id classes in write batches, one batch at a time. */
export class ApplyWorker {
  readonly #queue = new EventQueue();
  readonly #filled = new Condition();
  /** Events of suspended collections, by UUID; they wait for `resume`. */
  readonly #parked = new Map<string, EventQueue>();
  readonly #hot: HotDocuments;
  #inFlight: WriteBatch | null = null;

  constructor(private readonly deps: ApplyWorkerDependencies) {
    this.#hot = new HotDocuments(deps.clock);
  }

  get hotDocuments(): readonly HotDocument[] {
    return this.#hot.read();
  }

  /** Memory of the events that wait for a batch, without parked ones. */
  get queuedBytes(): number {
    return this.#queue.bytes;
  }

  push(routed: RoutedEvent): void {
    const parked = this.#parked.get(routed.collection.uuid);
    if (parked === undefined) this.#queue.push(routed);
    else parked.push(ownedRouted(routed));
    this.#filled.changed();
  }

  /** Queues events of one collection before all others: those that a re-read has buffered. */
  pushFirst(routed: readonly RoutedEvent[]): void {
    const parked = this.#parked.get(routed[0]?.collection.uuid ?? '');
    (parked ?? this.#queue).pushFirst(routed);
    this.#filled.changed();
  }

  /** Parks the queued events of a collection, and those that follow. */
  park(uuid: string): void {
    if (this.#parked.has(uuid)) return;
    const parked = new EventQueue();
    for (const routed of this.#queue.takeOut(uuid)) parked.push(ownedRouted(routed));
    this.#parked.set(uuid, parked);
  }

  /** Queues the parked events of a collection, in order. */
  resume(uuid: string): void {
    const parked = this.#parked.get(uuid);
    this.#parked.delete(uuid);
    for (const routed of parked ?? []) this.push(routed);
  }

  /** Drops the parked events of a collection; later ones are parked as before. */
  forget(uuid: string): void {
    const parked = this.#parked.get(uuid);
    if (parked === undefined) return;
    for (const { event } of parked) this.deps.budget.give(event.bytes);
    this.#parked.set(uuid, new EventQueue());
  }

  /** Whether statements for the collection are in flight. */
  isSending(uuid: string): boolean {
    return this.#inFlight?.items.some(({ collection }) => collection.uuid === uuid) ?? false;
  }

  /** Time of the earliest event that is not yet durable, or null. */
  oldest(): bigint | null {
    const parked = [...this.#parked.values()].map((queue) => queue.oldest);
    return [this.oldestUnparked(), ...parked].reduce(earlier, null);
  }

  /** The same without the parked events of other collections. */
  oldestOf(uuid: string): bigint | null {
    return earlier(this.oldestUnparked(), this.#parked.get(uuid)?.oldest ?? null);
  }

  /** The same without parked events. */
  oldestUnparked(): bigint | null {
    const inFlight = this.#inFlight === null || this.#inFlight.events.length === 0 ? null : this.#inFlight.first;
    return earlier(inFlight, this.#queue.oldest);
  }

  /** Works until the stop signal, then finishes the batch in flight; rejects when a batch fails. */
  async run(stop: AbortSignal, hard: AbortSignal): Promise<void> {
    for (;;) {
      await this.#filled.until(() => this.#queue.length > 0, stop);
      await this.deps.rereads.untilRoom(stop);
      await this.#next(hard);
    }
  }

  async #next(hard: AbortSignal): Promise<void> {
    const { rereads, budget } = this.deps;
    const batch = composeBatch(this.#queue, { rereads, budget, hot: this.#hot });
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

/** Parked events outlive the reply that they came in. */
function ownedRouted(routed: RoutedEvent): RoutedEvent {
  return { ...routed, event: ownedEvent(routed.event) };
}

/** The smaller of two times, of which either may be missing. */
export function earlier(a: bigint | null, b: bigint | null): bigint | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}
