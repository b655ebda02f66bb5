import type { CommandName } from './commands.js';
import type { MigrationState } from './progress.js';

/** The one state in which an instance takes each command. */
export const commandStates = {
  start: 'IDLE',
  pause: 'RUNNING',
  resume: 'PAUSED',
  commit: 'RUNNING',
  reverse: 'COMMITTED',
} as const satisfies Readonly<Record<CommandName, MigrationState>>;

/**
 * Highest lag of a steady state, at which a commit is possible, in seconds. Periodic writes of the source keep the lag
 * a few seconds above zero.
 */
export const steadyLagMax_seconds = 30;
