import { CommandError, type CommandRequest } from '../../node/command.js';
import { isInternalDatabase } from '../../node/user-write-block.js';
import type { FailPoint } from '../../wire/fail-point.js';

/** Index builds that hang at their fail point. All others end at once. */
export class RunningBuilds {
  /** Fail point of hanging builds (`hangAfterInitializingIndexBuild`). Null where there are no fail points. */
  point: FailPoint | null = null;
  #ended = new AbortController();

  /** Ends the builds of users' databases. */
  abort(): void {
    this.#ended.abort();
    this.#ended = new AbortController();
  }

  /** @throws CommandError 276 for an aborted build */
  async pass({ db, signal }: CommandRequest): Promise<void> {
    if (this.point?.active !== true) return;
    const ended = isInternalDatabase(db) ? new AbortController().signal : this.#ended.signal;
    await this.point.held(AbortSignal.any([ended, signal]));
    if (ended.aborted) throw new CommandError(276, 'IndexBuildAborted', 'Index build aborted: User write blocking');
  }
}
