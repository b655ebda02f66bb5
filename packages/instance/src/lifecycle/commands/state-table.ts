import { commandStates } from '@convoy/api/contract/command-rules';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { CommandName } from '@convoy/api/contract/commands';
import type { MigrationState } from '@convoy/api/contract/progress';

/** What leads on from the state in which a command was refused. */
const remedies: Readonly<Record<Exclude<MigrationState, 'INITIALIZING'>, string>> = {
  IDLE: 'There is no migration: start one first.',
  RUNNING: 'The migration runs: progress says how far it is.',
  PAUSED: 'The migration is paused: resume it.',
  COMMITTING: 'Wait until the state is COMMITTED; progress names the present step.',
  COMMITTED: 'The migration is over: clean it up before another one.',
  REVERSING: 'Wait until the state is RUNNING; progress names the present step.',
};

/**
 * @param whyInitializing what an INITIALIZING process waits for, as sentences
 * @throws ConvoyError `notInThisState` that says what to do
 */
export function requireState(command: CommandName, state: MigrationState, whyInitializing: string): void {
  const needed = commandStates[command];
  if (state === needed) return;
  const remedy =
    state === 'INITIALIZING' ? `${whyInitializing} Repeat ${command} once the state is ${needed}.` : remedies[state];
  throw new ConvoyError(
    'notInThisState',
    `${command} is taken in state ${needed} only; the present state is ${state}. ${remedy}`,
  );
}
