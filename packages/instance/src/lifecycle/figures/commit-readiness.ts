import { steadyLagMax_seconds } from './catch-up.js';
import type { ShareFigures } from './share-figures.js';

/** A commit that was offered is not taken back for a lag below this: a lag that swings about the limit of the offer would change it every second. */
export const offeredLagMax_seconds = 2 * steadyLagMax_seconds;

/** Whether the own shares are ready for a commit: copied, following, near the source. Once ready, they stay it a good way above the limit. */
export class CommitReadiness {
  #offered = false;

  /** @param shares so many have to be ready */
  judge(figures: readonly ShareFigures[], shares: number): boolean {
    const lagMax_seconds = this.#offered ? offeredLagMax_seconds : steadyLagMax_seconds;
    this.#offered = figures.length === shares && figures.every((one) => one.copyDone && one.followsStream && one.lag_seconds <= lagMax_seconds);
    return this.#offered;
  }

  /** What was offered counts no longer. */
  withdraw(): false {
    this.#offered = false;
    return false;
  }
}
