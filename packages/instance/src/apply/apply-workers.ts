import { hottest } from '@convoy/api/contract/hot-documents';
import { runTogether } from '../async/together.js';
import { ApplyWorker, type ApplyWorkerDependencies, earlier } from './apply-worker.js';
import type { HotDocument } from './hot-documents.js';
import type { RoutedEvent } from './write-batch.js';

/** The part of all buffered bytes that wait for a batch at most: with 1 kB documents two batches for each worker. */
const queuedFractionMax = 0.125;

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
