/** The owner's durable writes of one share that stations may ask for. */
export type SaveWatermark = (time: bigint) => Promise<void>;

/**
 * The time up to which events may have been sent to the destination, kept durable ahead of the sending.
 * After a crash everything between the checkpoint and this time is in doubt.
 */
export class ApplyWatermark {
  #writing: Promise<void> | null = null;
  #durable: bigint;

  /**
   * @param durable the stored time
   * @param reachable how far the stream has been read: one write then covers all of it
   */
  constructor(
    durable: bigint,
    private readonly save: SaveWatermark,
    private readonly reachable: () => bigint,
  ) {
    this.#durable = durable;
  }

  /** Resolves once `time` is covered durably; at once in the common case. One write at a time, so that none undoes a later one. */
  async cover(time: bigint): Promise<void> {
    while (time > this.#durable) {
      const ahead = this.reachable();
      this.#writing ??= this.#write(ahead > time ? ahead : time).finally(() => {
        this.#writing = null;
      });
      await this.#writing;
    }
  }

  async #write(target: bigint): Promise<void> {
    await this.save(target);
    if (target > this.#durable) this.#durable = target;
  }
}
