import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { CommandName } from '@convoy/api/contract/commands';
import type { MigrationState } from '@convoy/api/contract/progress';

/** The one state in which each command is taken. */
export const commandState: Readonly<Record<CommandName, MigrationState>> = {
  start: 'IDLE',
  pause: 'RUNNING',
  resume: 'PAUSED',
  commit: 'RUNNING',
  reverse: 'COMMITTED',
};

/** @throws ConvoyError `notInThisState` */
export function requireState(command: CommandName, state: MigrationState): void {
  const needed = commandState[command];
  if (state === needed) return;
  throw new ConvoyError(
    'notInThisState',
    `${command} is taken in state ${needed} only; the present state is ${state}.`,
  );
}
