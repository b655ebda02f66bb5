import type { Clock } from '../../async/clock.js';

/** Interval between looks: one small read of each cluster. */
const look_ms = 5_000;

/** Looks now and then whether the clusters' feature compatibility versions allow a commit. */
export class VersionWatch {
  #refusal: string | null = null;

  /** @param look why a commit would be refused; null if it would not; it rejects when a cluster does not answer */
  constructor(
    private readonly look: (signal: AbortSignal) => Promise<string | null>,
    private readonly clock: Clock,
  ) {}

  /** Why a commit would be refused, as of the last look that the clusters answered; null if it would not. */
  get refusal(): string | null {
    return this.#refusal;
  }

  /** Looks until `isOver`, or until the signal aborts. A look without an answer changes nothing. */
  async run(isOver: () => boolean, signal: AbortSignal): Promise<void> {
    while (!isOver()) {
      this.#refusal = await this.look(signal).catch(() => {
        signal.throwIfAborted();
        return this.#refusal;
      });
      await this.clock.sleep(look_ms, signal);
    }
  }
}
