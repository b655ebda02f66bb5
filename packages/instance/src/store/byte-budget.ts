import { Condition } from './condition.js';

/**
 * Counts the bytes in the buffers of one process. Producers wait while there are too many.
 * `take` never waits, because its bytes are in memory already; only the next read waits.
 */
export class ByteBudget {
  #used = 0;
  readonly #given = new Condition();

  constructor(readonly bytesMax: number) {}

  get used(): number {
    return this.#used;
  }

  get isFull(): boolean {
    return this.#used >= this.bytesMax;
  }

  take(bytes: number): void {
    this.#used += bytes;
  }

  give(bytes: number): void {
    this.#used -= bytes;
    if (!this.isFull) this.#given.changed();
  }

  /** Resolves once fewer bytes than the bound are in use; rejects with the signal's reason. */
  async untilFree(signal: AbortSignal): Promise<void> {
    if (this.isFull) await this.#given.until(() => !this.isFull, signal);
  }
}
