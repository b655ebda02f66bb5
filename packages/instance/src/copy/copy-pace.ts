import type { Clock } from '../async/clock.js';
import { Semaphore } from '../async/waiting.js';

/** Long enough for dozens of batches, short enough to find the best concurrency within seconds. */
const window_ms = 1_000;
/** A longer pause would distort the throughput: the window restarts. */
const idle_ms = 500;

/** Bounds the reads and writes in flight of one sync task's copy to those with the best throughput, within limits. */
export class CopyConcurrency {
  readonly reads: Semaphore;
  readonly writes: Semaphore;
  readonly #search: ConcurrencySearch;
  #windowBegan_ms: number;
  #lastAcknowledged_ms: number;
  #bytes = 0;

  /**
   * @param max the limits, at least 1 each; the copy starts with them, since a small one ends before the first window
   */
  constructor(
    private readonly clock: Clock,
    max: Readonly<Concurrency>,
  ) {
    this.#search = new ConcurrencySearch(max);
    this.reads = new Semaphore(this.#search.concurrency.readers);
    this.writes = new Semaphore(this.#search.concurrency.writers);
    this.#windowBegan_ms = clock.monotonic_ms();
    this.#lastAcknowledged_ms = this.#windowBegan_ms;
  }

  get present(): Readonly<Concurrency> {
    return this.#search.concurrency;
  }

  /** Counts the bytes of an acknowledged write. */
  acknowledged(bytes: number): void {
    const now_ms = this.clock.monotonic_ms();
    const paused = now_ms - this.#lastAcknowledged_ms > idle_ms;
    this.#lastAcknowledged_ms = now_ms;
    if (paused) {
      this.#begin(now_ms);
      return;
    }
    this.#bytes += bytes;
    const elapsed_ms = now_ms - this.#windowBegan_ms;
    if (elapsed_ms < window_ms) return;
    this.#search.measured((this.#bytes * 1000) / elapsed_ms);
    this.reads.max = this.#search.concurrency.readers;
    this.writes.max = this.#search.concurrency.writers;
    this.#begin(now_ms);
  }

  #begin(now_ms: number): void {
    this.#windowBegan_ms = now_ms;
    this.#bytes = 0;
  }
}

/** Limits the bytes read per second, to protect the source. */
export class ReadRate {
  #freeAt_ms = 0;

  /** @param bytesPerSecond null: no limit */
  constructor(
    private readonly clock: Clock,
    private readonly bytesPerSecond: number | null,
  ) {}

  /** Waits until the bytes just read are within the limit. */
  async spent(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.bytesPerSecond === null) return;
    const now_ms = this.clock.monotonic_ms();
    const begin_ms = Math.max(now_ms, this.#freeAt_ms);
    this.#freeAt_ms = begin_ms + (bytes / this.bytesPerSecond) * 1000;
    const wait_ms = this.#freeAt_ms - now_ms;
    if (wait_ms > 1) await this.clock.sleep(wait_ms, signal);
  }
}

/** How many calls of one sync task's copy are in flight at once. */
export interface Concurrency {
  /** Cursor reads. */
  readers: number;
  /** Bulk writes. */
  writers: number;
}

/** A smaller gain is noise. */
const gainMin = 1.05;
/** How many windows the search rests when no step is better; doubled each time. */
const restMin_windows = 4;
const restMax_windows = 32;

/** Directions in the order of the search, which starts at the limits. */
const steps: readonly Readonly<Concurrency>[] = [
  { readers: 0, writers: -1 },
  { readers: -1, writers: 0 },
  { readers: 0, writers: 1 },
  { readers: 1, writers: 0 },
];
/** Size of a step relative to the present value, at least 1: single steps would take too long far from the best. */
const stepPart = 1 / 8;

/**
 * Hill climbing for the concurrency with the best throughput. Each window tries one step. A faster step is kept and
 * repeated, a slower one is undone. When no step is better the search rests, then starts again, since documents and
 * loads change.
 */
export class ConcurrencySearch {
  #best: Concurrency;
  /** Throughput at `#best`; null before the first measurement. */
  #bestRate: number | null = null;
  /** Index of the step that this window tries; null while it measures `#best`. */
  #trying: number | null = null;
  #failed = 0;
  #next = 0;
  #rest_windows = 0;
  #restNext_windows = restMin_windows;

  /** @param max the limits, at least 1 each; the first window uses them */
  constructor(private readonly max: Readonly<Concurrency>) {
    this.#best = { ...max };
  }

  /** The concurrency of the present window. */
  get concurrency(): Readonly<Concurrency> {
    const step = this.#trying === null ? undefined : steps[this.#trying];
    return step === undefined ? this.#best : this.#stepped(step);
  }

  /**
   * Ends a window.
   * @param rate acknowledged bytes per second
   */
  measured(rate: number): void {
    if (this.#rest_windows > 0) {
      this.#rest_windows -= 1;
      // A measurement from before the rest is out of date.
      this.#bestRate = null;
    } else if (this.#trying === null || this.#bestRate === null) {
      this.#bestRate = rate;
      this.#tryNext();
    } else if (rate >= this.#bestRate * gainMin) {
      this.#best = { ...this.concurrency };
      this.#bestRate = rate;
      this.#failed = 0;
      this.#restNext_windows = restMin_windows;
      this.#tryNext();
    } else {
      this.#next = this.#trying + 1;
      this.#failed += 1;
      this.#tryNext();
    }
  }

  /** Chooses the next step within the limits; rests after all have failed. */
  #tryNext(): void {
    for (; this.#failed < steps.length; this.#failed += 1, this.#next += 1) {
      const index = this.#next % steps.length;
      const step = steps[index];
      if (step !== undefined && this.#isWithin(step)) {
        this.#trying = index;
        this.#next = index;
        return;
      }
    }
    this.#trying = null;
    this.#failed = 0;
    this.#rest_windows = this.#restNext_windows;
    this.#restNext_windows = Math.min(restMax_windows, 2 * this.#restNext_windows);
  }

  #stepped({ readers, writers }: Readonly<Concurrency>): Concurrency {
    return { readers: stepped(this.#best.readers, readers), writers: stepped(this.#best.writers, writers) };
  }

  #isWithin(step: Readonly<Concurrency>): boolean {
    const { readers, writers } = this.#stepped(step);
    return readers >= 1 && readers <= this.max.readers && writers >= 1 && writers <= this.max.writers;
  }
}

function stepped(count: number, direction: number): number {
  return count + direction * Math.max(1, Math.floor(count * stepPart));
}
