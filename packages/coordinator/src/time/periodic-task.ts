/** Runs one piece of work again and again: never twice at a time, and at once when asked. */
export class PeriodicTask {
  readonly #work: () => Promise<void>;
  readonly #interval_ms: number;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = true;

  /**
   * @param interval_ms pause between the end of one run and the begin of the next
   * @param work must handle its own failures; one that gets out is a defect and ends the process
   */
  constructor(interval_ms: number, work: () => Promise<void>) {
    this.#interval_ms = interval_ms;
    this.#work = work;
  }

  /** Begins with a run at once. */
  start(): void {
    this.#stopped = false;
    this.runSoon();
  }

  /** Runs now, or once more right after the present run. */
  runSoon(): void {
    if (this.#stopped) return;
    if (this.#running !== undefined) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#running = this.#run();
  }

  /** Ends the repetition and waits for the present run. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    await this.#work();
    this.#running = undefined;
    if (this.#stopped) return;
    if (this.#again) {
      this.#again = false;
      this.runSoon();
      return;
    }
    this.#timer = setTimeout(() => this.runSoon(), this.#interval_ms);
  }
}
