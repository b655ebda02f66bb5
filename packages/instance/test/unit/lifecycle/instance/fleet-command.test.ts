import { commandNames } from '@convoy/api/contract/commands';
import { migrationStates } from '@convoy/api/contract/progress';
import { describe, expect, it } from 'vitest';
import { requireState } from '../../../../src/lifecycle/instance/fleet-command.js';

/** The contract's only transitions by command. */
const taken: Record<string, string> = {
  start: 'IDLE',
  pause: 'RUNNING',
  resume: 'PAUSED',
  commit: 'RUNNING',
  reverse: 'COMMITTED',
};

const pairs = commandNames.flatMap((command) => migrationStates.map((state) => ({ command, state })));

describe('a command', () => {
  it.each(pairs.filter(({ command, state }) => taken[command] === state))(
    '$command is taken in $state',
    ({ command, state }) => {
      expect(() => requireState(command, state, '')).not.toThrow();
    },
  );

  it.each(pairs.filter(({ command, state }) => taken[command] !== state))(
    '$command is refused in $state, with both states and what to do in the text',
    ({ command, state }) => {
      const needed = taken[command] ?? '';
      const refused = `${command} is taken in state ${needed} only; the present state is ${state}.`;
      const remedy =
        state === 'INITIALIZING' ? `cluster0 is away\\. Repeat ${command} once the state is ${needed}` : '[A-Z].+';
      const errorDescription = expect.stringMatching(new RegExp(`^${refused} ${remedy}\\.$`)) as string;
      expect(() => requireState(command, state, 'cluster0 is away.')).toThrow(
        expect.objectContaining({ error: 'notInThisState', errorDescription }),
      );
    },
  );
});
