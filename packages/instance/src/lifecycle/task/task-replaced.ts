import { setMaxListeners } from 'node:events';
import { isConvoyError } from '@convoy/api/errors/convoy-error';
import type { Logger } from '../../logging/logger.js';
import { listenersMax } from '../../async/together.js';

/** How a process ends its work on sync tasks that another process has taken. */
export interface Replacement {
  /** Receives every failure of the work. */
  onFailure: (error: unknown) => void;
  /**
   * Aborted with `hard`, and once another process owns the tasks. Writes in flight are then abandoned, because the
   * servers refuse them.
   */
  signal: AbortSignal;
}

/**
 * Aborts everything in flight, and logs it, when another process has raised the epoch of the tasks, for example during
 * a long freeze.
 */
export function endWhenReplaced(taskIds: readonly string[], logger: Logger, hard: AbortSignal): Replacement {
  const replaced = new AbortController();
  const signal = AbortSignal.any([hard, replaced.signal]);
  setMaxListeners(listenersMax, signal);
  return {
    onFailure: (error) => {
      if (replaced.signal.aborted || !isConvoyError(error, 'staleEpoch')) return;
      logger.warn(
        { event: 'tasksTakenOver', tasks: taskIds },
        'another process owns the sync tasks; this one stops work on them at once',
      );
      replaced.abort(error);
    },
    signal,
  };
}
