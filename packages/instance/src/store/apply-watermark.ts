/** Writes the apply watermark of one sync task durably. */
type SaveWatermark = (time: bigint) => Promise<void>;

/**
 * The time up to which events may have been sent to the destination. It is durable before an event is sent.
 * After a crash, the events between the checkpoint and this time may or may not be applied.
 */
export class ApplyWatermark {
  #writing: Promise<void> | null = null;
  #durable: bigint;

  /**
   * @param durable the stored time
   * @param reachable how far the stream has been read: one write covers all of it
   */
  constructor(
    durable: bigint,
    private readonly save: SaveWatermark,
    private readonly reachable: () => bigint,
  ) {
    this.#durable = durable;
  }

  /**
   * Resolves once the durable watermark is at or above `time`. One write at a time, so that none undoes a later one.
   */
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
