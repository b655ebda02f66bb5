/** Repeats one task: never twice at a time, and immediately on request. */
export class PeriodicTask {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = true;

  /**
   * @param interval_ms pause between the end of one run and the start of the next
   * @param work handles its own failures; one that escapes is a bug and ends the process
   */
  constructor(
    private readonly interval_ms: number,
    private readonly work: () => Promise<void>,
  ) {}

  /** Starts with a run immediately. */
  start(): void {
    this.#stopped = false;
    this.runSoon();
  }

  /** Runs now, or once more right after the current run. */
  runSoon(): void {
    if (this.#stopped) return;
    if (this.#running !== undefined) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#running = this.#run();
  }

  /** Stops the repetition and waits for the current run. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    await this.work();
    this.#running = undefined;
    if (this.#stopped) return;
    if (this.#again) {
      this.#again = false;
      this.runSoon();
      return;
    }
    this.#timer = setTimeout(() => this.runSoon(), this.interval_ms);
  }
}
