import type { Command } from 'commander';
import { nextStep } from '@convoy/api/contract/next-step';
import { progressBlock, type ShownProgress } from '../progress-view/progress-lines.js';
import { clientOf, readProgress, serviceCommand, type ServiceOptions } from './service.js';
import { addWait, watchUntil, type WaitOptions } from './wait.js';

/** Adds the commands that control and watch a running migration. */
export function addServiceCommands(program: Command): void {
  for (const simple of simpleCommands) addSimple(program, simple);
  serviceCommand(program, 'progress', 'print the progress once')
    .option('--json', 'print the reply as JSON')
    .action(async (options: ServiceOptions & { json?: boolean }) => {
      const progress = await readProgress(clientOf(options));
      console.log(
        options.json
          ? JSON.stringify(progress)
          : [...progressBlock(progress), `Next: ${nextStep(progress)}`].join('\n'),
      );
    });
  serviceCommand(program, 'watch', 'show the progress until the migration is committed').action(
    (options: ServiceOptions) => watchUntil(clientOf(options), 'COMMITTED', ({ state }) => state === 'COMMITTED'),
  );
}

interface SimpleCommand {
  name: 'pause' | 'resume' | 'commit' | 'reverse';
  description: string;
  /** Message after the command was accepted. */
  then: string;
  /** Condition of `--wait`. */
  what: string;
  until: (progress: ShownProgress) => boolean;
}

const simpleCommands: readonly SimpleCommand[] = [
  {
    name: 'pause',
    description: 'pause the migration',
    then: 'Paused. Continue with: convoy resume',
    what: 'all instances are PAUSED',
    until: ({ state }) => state === 'PAUSED',
  },
  {
    name: 'resume',
    description: 'resume a paused migration',
    then: 'Running again. Follow it with: convoy watch',
    what: 'no instance is PAUSED',
    until: ({ state }) => state === 'RUNNING' || state === 'REVERSING',
  },
  {
    name: 'commit',
    description: 'commit the migration: the destination takes over',
    then: 'The commit has started. Write to the destination once canWrite is true: convoy watch',
    what: 'the destination accepts writes',
    until: ({ state, canWrite }) => state === 'COMMITTED' && canWrite === true,
  },
  {
    name: 'reverse',
    description: 'swap source and destination of a committed migration',
    then: 'Reversing. Follow it with: convoy watch',
    what: 'a commit is possible again',
    until: ({ state, canCommit }) => state !== 'COMMITTED' && canCommit,
  },
];

function addSimple(program: Command, { name, description, then, what, until }: SimpleCommand): void {
  addWait(serviceCommand(program, name, description), what).action(async (options: ServiceOptions & WaitOptions) => {
    const client = clientOf(options);
    await client[name]();
    if (options.wait === undefined) console.log(then);
    else await watchUntil(client, what, until, options.wait);
  });
}
