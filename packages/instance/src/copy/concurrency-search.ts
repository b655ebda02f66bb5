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
