/** A timer as `setTimeout` gives it out. */
export interface VirtualTimer {
  at_ms: number;
  order: number;
  run: () => void;
  interval_ms: number | null;
  waiting: boolean;
  ref(): VirtualTimer;
  unref(): VirtualTimer;
  hasRef(): boolean;
}

/** A binary heap of timers by due time, then by the order in which they were set. */
export class TimerQueue {
  readonly #heap: VirtualTimer[] = [];
  #orders = 0;

  /** Adds a timer, which repeats if it has an interval. */
  add(at_ms: number, run: () => void, interval_ms: number | null): VirtualTimer {
    const timer: VirtualTimer = {
      at_ms,
      order: 0,
      run,
      interval_ms,
      waiting: true,
      ref: () => timer,
      unref: () => timer,
      hasRef: () => true,
    };
    this.again(timer, at_ms);
    return timer;
  }

  /** Sets a timer once more. */
  again(timer: VirtualTimer, at_ms: number): void {
    timer.at_ms = at_ms;
    timer.order = this.#orders += 1;
    timer.waiting = true;
    this.#heap.push(timer);
    this.#rise(this.#heap.length - 1);
  }

  /** Ends a timer; anything else is passed over, as `clearTimeout` does. */
  remove(timer: unknown): void {
    if (typeof timer !== 'object' || timer === null || !('waiting' in timer)) return;
    const known = timer as VirtualTimer;
    known.waiting = false;
    known.interval_ms = null;
  }

  /** Takes the next timer that was not removed. */
  take(): VirtualTimer | undefined {
    for (;;) {
      const first = this.#heap[0];
      const last = this.#heap.pop();
      if (first === undefined || last === undefined) return undefined;
      if (first !== last) {
        this.#heap[0] = last;
        this.#sink(0);
      }
      if (!first.waiting) continue;
      first.waiting = false;
      return first;
    }
  }

  #rise(from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#swapWhenEarlier(at, parent)) return;
      at = parent;
    }
  }

  #sink(from: number): void {
    let at = from;
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      const child = right < this.#heap.length && this.#isEarlier(right, left) ? right : left;
      if (child >= this.#heap.length || !this.#swapWhenEarlier(child, at)) return;
      at = child;
    }
  }

  #isEarlier(one: number, other: number): boolean {
    const first = this.#heap[one];
    const second = this.#heap[other];
    if (first === undefined || second === undefined) return false;
    return first.at_ms < second.at_ms || (first.at_ms === second.at_ms && first.order < second.order);
  }

  #swapWhenEarlier(lower: number, upper: number): boolean {
    if (!this.#isEarlier(lower, upper)) return false;
    const first = this.#heap[lower];
    const second = this.#heap[upper];
    if (first === undefined || second === undefined) return false;
    this.#heap[lower] = second;
    this.#heap[upper] = first;
    return true;
  }
}
