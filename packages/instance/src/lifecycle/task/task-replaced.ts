import { setMaxListeners } from 'node:events';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Logger } from '../../logging/logger.js';
import { listenersMax } from '../../store/run-together.js';

/** How a process ends its work on shares that another one has taken over. */
export interface Replacement {
  /** To be told of every failure of the work. */
  onFailure: (error: unknown) => void;
  /** Aborted with `hard`, and once another process works on the shares: writes in flight are then not waited for, because the servers refuse them. */
  signal: AbortSignal;
}

/** Ends what is in flight, and says so, when the epoch of the shares is found to be no longer the own one: as after a long freeze. */
export function endWhenReplaced(taskIds: readonly string[], logger: Logger, hard: AbortSignal): Replacement {
  const replaced = new AbortController();
  const signal = AbortSignal.any([hard, replaced.signal]);
  setMaxListeners(listenersMax, signal);
  return {
    onFailure: (error) => {
      if (replaced.signal.aborted || !(error instanceof ConvoyError) || error.error !== 'staleEpoch') return;
      logger.warn(
        { event: 'sharesTakenOver', tasks: taskIds },
        'another process works on the shares; this one ends its work on them at once',
      );
      replaced.abort(error);
    },
    signal,
  };
}
