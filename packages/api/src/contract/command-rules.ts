import type { CommandName } from './commands.js';
import type { MigrationState } from './progress.js';

/**
 * The one state in which an instance takes each command. In others it answers `notInThisState`, unless it has already
 * taken this very command.
 */
export const commandStates = {
  start: 'IDLE',
  pause: 'RUNNING',
  resume: 'PAUSED',
  commit: 'RUNNING',
  reverse: 'COMMITTED',
} as const satisfies Readonly<Record<CommandName, MigrationState>>;

/**
 * Up to this lag the change event application counts as caught up: `ceaStage` is "steady state", and no instance
 * withholds `canCommit` for its lag. It is not zero, since streams of an idle source advance only with the server's
 * periodic no-ops, every 10 s by default.
 */
export const steadyLagMax_seconds = 30;
