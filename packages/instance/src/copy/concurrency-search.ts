/** How many calls of the copy are in flight at once, for one share. */
export interface Concurrency {
  /** Reads: replies of cursors on their way. */
  readers: number;
  /** Bulk writes that are not acknowledged yet. */
  writers: number;
}

/** Below this, a better throughput is noise. */
const gainMin = 1.05;
/** How many windows a width is kept after nothing beside it was better; doubled each time up to the bound. */
const restMin_windows = 4;
const restMax_windows = 32;

/** The directions that are tried, in this order: the search begins at the limits. */
const steps: readonly Readonly<Concurrency>[] = [
  { readers: 0, writers: -1 },
  { readers: -1, writers: 0 },
  { readers: 0, writers: 1 },
  { readers: 1, writers: 0 },
];
/** A step is this part of what there is, at least one: far from the best width single steps would take too long. */
const stepPart = 1 / 8;

/**
 * Looks for the width with the best throughput by climbing: tries one step at a time for one window, keeps what is
 * faster and goes on that way, takes back what is not. When no step is better it rests, and then looks again, since
 * documents and loads change.
 */
export class ConcurrencySearch {
  #best: Concurrency;
  /** Throughput at `#best`; null before it was measured. */
  #bestRate: number | null = null;
  /** The step that the present window tries; null while the best width itself is measured. */
  #trying: number | null = null;
  #failed = 0;
  #next = 0;
  #rest_windows = 0;
  #restNext_windows = restMin_windows;

  /** @param max the limits, at least 1 each: the width of the first window */
  constructor(private readonly max: Readonly<Concurrency>) {
    this.#best = { ...max };
  }

  /** The width of the present window. */
  get concurrency(): Readonly<Concurrency> {
    const step = this.#trying === null ? undefined : steps[this.#trying];
    return step === undefined ? this.#best : this.#stepped(step);
  }

  /**
   * Ends a window.
   * @param rate bytes per second that were acknowledged in it
   */
  measured(rate: number): void {
    if (this.#rest_windows > 0) {
      this.#rest_windows -= 1;
      // What was measured before the rest says nothing about now.
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

  /** Takes the next step that stays within the limits; rests when all have been tried in vain. */
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
