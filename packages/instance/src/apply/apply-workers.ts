import { hottest } from '@convoy/api/contract/hot-documents';
import type { Clock } from '../async/clock.js';
import { runTogether } from '../async/together.js';
import { type ByteBudget, Condition } from '../async/waiting.js';
import { ownedEvent } from '../store/change-event.js';
import type { RereadSet } from '../store/reread-set.js';
import type { ApplyWatermark } from '../store/task-record.js';
import { type BatchDestination, sendBatch } from './send-batch.js';
import {
  composeBatch,
  type HotDocument,
  HotDocuments,
  type RoutedEvent,
  type WaitingEvents,
  type WriteBatch,
} from './write-batch.js';

/** The part of all buffered bytes that wait for a batch at most: with 1 kB documents two batches for each worker. */
const queuedFractionMax = 0.125;

export interface ApplyWorkerDependencies extends BatchDestination {
  rereads: RereadSet;
  budget: ByteBudget;
  applyWatermark: ApplyWatermark;
  /** Signalled after every finished batch. */
  progressed: Condition;
  clock: Pick<Clock, 'monotonic_ms'>;
  onApplied(events: number): void;
}

/** Several apply workers; all events of one id class go to the same worker. */
export class ApplyWorkers {
  readonly #workers: ApplyWorker[];

  constructor(
    count: number,
    private readonly deps: ApplyWorkerDependencies,
  ) {
    this.#workers = Array.from({ length: count }, () => new ApplyWorker(deps));
  }

  push(routed: RoutedEvent): void {
    this.#workerOf(routed).push(routed);
  }

  /** Queues the events of one id class that a re-read has buffered before all later ones. */
  pushFirst(routed: readonly RoutedEvent[]): void {
    const first = routed[0];
    if (first !== undefined) this.#workerOf(first).pushFirst(routed);
  }

  /** Resolves once the next events are worth reading: earlier, they would only fill the memory. */
  async untilRoom(signal: AbortSignal): Promise<void> {
    const { budget, progressed } = this.deps;
    await progressed.until(() => this.#queuedBytes < budget.bytesMax * queuedFractionMax, signal);
  }

  get #queuedBytes(): number {
    return this.#workers.reduce((sum, { queuedBytes }) => sum + queuedBytes, 0);
  }

  /** Parks the queued events of a collection, and those that follow; they still count as not durable. */
  park(uuid: string): void {
    for (const worker of this.#workers) worker.park(uuid);
    this.deps.progressed.changed();
  }

  /** Queues the parked events of a collection, in order. */
  resume(uuid: string): void {
    for (const worker of this.#workers) worker.resume(uuid);
    this.deps.progressed.changed();
  }

  /** Drops the parked events of a collection; later ones are parked as before. */
  forget(uuid: string): void {
    for (const worker of this.#workers) worker.forget(uuid);
    this.deps.progressed.changed();
  }

  /** Resolves once no statement for the collection is in flight. */
  async answered(uuid: string, signal: AbortSignal): Promise<void> {
    await this.deps.progressed.until(() => !this.#workers.some((worker) => worker.isSending(uuid)), signal);
  }

  /** The documents that change more often than their workers send batches, the fastest first. */
  hotDocuments(): HotDocument[] {
    return hottest(this.#workers.map(({ hotDocuments }) => hotDocuments));
  }

  /** Time of the earliest event that is not yet durable, or null. */
  oldest(): bigint | null {
    return this.#workers.map((worker) => worker.oldest()).reduce(earlier, null);
  }

  /** The same without the parked events of other collections: none of its own is earlier. */
  oldestOf(uuid: string): bigint | null {
    return this.#workers.map((worker) => worker.oldestOf(uuid)).reduce(earlier, null);
  }

  /** Resolves once every pushed event up to `time` is durable, parked ones excepted. */
  async flushed(time: bigint, signal: AbortSignal): Promise<void> {
    await this.deps.progressed.until(() => {
      const oldest = this.#workers.map((worker) => worker.oldestUnparked()).reduce(earlier, null);
      return oldest === null || oldest > time;
    }, signal);
  }

  /** Runs all workers until the stop signal; rejects with the first failure. */
  async run(stop: AbortSignal, hard: AbortSignal): Promise<void> {
    await runTogether(
      stop,
      this.#workers.map((worker) => (signal) => worker.run(signal, hard)),
    );
  }

  #workerOf({ collection, workerClass }: RoutedEvent): ApplyWorker {
    const name = collection.capped ? collection.uuid : workerClass;
    const worker = this.#workers[hashText(name) % this.#workers.length];
    if (worker === undefined) throw new Error('there are no apply workers');
    return worker;
  }
}

/** FNV-1a over UTF-16 units: spreads id classes over the workers. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return hash >>> 0;
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
