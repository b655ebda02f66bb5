import { runTogether } from '../store/run-together.js';
import { earlier, ApplyWorker, type ApplyWorkerDependencies } from './apply-worker.js';
import type { RoutedEvent } from './write-batch.js';

/** Several lanes at once; all events of one id class go to the same lane. */
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

  /** Lets events of one id class that a repair has held go on, before everything that came after them. */
  pushFirst(routed: readonly RoutedEvent[]): void {
    const first = routed[0];
    if (first !== undefined) this.#workerOf(first).pushFirst(routed);
  }

  /** Sets the waiting events of a collection aside, and those that come; they still count as not durable. */
  park(uuid: string): void {
    for (const worker of this.#workers) worker.park(uuid);
  }

  /** Lets what was set aside go on, in order. */
  resume(uuid: string): void {
    for (const worker of this.#workers) worker.resume(uuid);
    this.deps.progressed.changed();
  }

  /** Forgets what was set aside; what comes is set aside as before. */
  forget(uuid: string): void {
    for (const worker of this.#workers) worker.forget(uuid);
    this.deps.progressed.changed();
  }

  /** Resolves once no statement for the collection is under way. */
  async answered(uuid: string, signal: AbortSignal): Promise<void> {
    await this.deps.progressed.until(() => !this.#workers.some((worker) => worker.isSending(uuid)), signal);
  }

  /** Time of the earliest event whose effect is not durable yet, or null when there is none. */
  oldest(): bigint | null {
    return this.#workers.map((worker) => worker.oldest()).reduce(earlier, null);
  }

  /** Resolves once every event up to `time` that was pushed before, and not set aside, is durable. */
  async flushed(time: bigint, signal: AbortSignal): Promise<void> {
    await this.deps.progressed.until(() => {
      const oldest = this.#workers.map((worker) => worker.oldestMoving()).reduce(earlier, null);
      return oldest === null || oldest > time;
    }, signal);
  }

  /** Runs all lanes until the stop signal; rejects with the first failure. */
  async run(stop: AbortSignal, hard: AbortSignal): Promise<void> {
    await runTogether(
      stop,
      this.#workers.map((worker) => (signal) => worker.run(signal, hard)),
    );
  }

  #workerOf({ collection, workerClass }: RoutedEvent): ApplyWorker {
    const name = collection.capped ? collection.uuid : workerClass;
    const worker = this.#workers[hashText(name) % this.#workers.length];
    if (worker === undefined) throw new Error('there are no lanes');
    return worker;
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
