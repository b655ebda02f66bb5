import { commandStates } from '@convoy/api/contract/command-rules';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { CommandName } from '@convoy/api/contract/commands';
import type { MigrationState } from '@convoy/api/contract/progress';

/** @throws ConvoyError `notInThisState` */
export function requireState(command: CommandName, state: MigrationState): void {
  const needed = commandStates[command];
  if (state === needed) return;
  throw new ConvoyError(
    'notInThisState',
    `${command} is taken in state ${needed} only; the present state is ${state}.`,
  );
}
