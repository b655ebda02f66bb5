import type { Command } from 'commander';
import { JsonLinesView } from '../progress-view/json-lines-view.js';
import type { ShownProgress } from '../progress-view/progress-lines.js';
import { waitingLines } from '../progress-view/waiting-lines.js';
import { addProgressCommand } from './progress-command.js';
import { clientOf, serviceCommand, type ServiceOptions } from './service.js';
import { addJson, type JsonOption } from './json-output.js';
import { type Acceptance, addWait, endAccepted, watchUntil, type WaitOptions } from './wait.js';

/** Adds the commands that control and watch a running migration. */
export function addServiceCommands(program: Command): void {
  for (const simple of simpleCommands) addSimple(program, simple);
  addProgressCommand(program);
  addJson(
    serviceCommand(program, 'watch', 'show the progress until the migration is committed'),
    'print each changed progress as a line of JSON',
  ).action(async (options: ServiceOptions & JsonOption) => {
    const view = options.json ? { view: new JsonLinesView(process.stdout) } : {};
    await watchUntil(clientOf(options), 'COMMITTED', ({ state }) => state === 'COMMITTED', view);
  });
}

interface SimpleCommand extends Acceptance {
  name: 'pause' | 'resume' | 'commit' | 'reverse';
  description: string;
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
    until: (progress) => ['RUNNING', 'REVERSING'].includes(progress.state) && !isPausedInPart(progress),
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

/** A fleet of RUNNING and PAUSED instances is RUNNING; one that is away resumes later. */
function isPausedInPart({ instances, waitingFor }: ShownProgress): boolean {
  return (
    (instances ?? []).some(({ state }) => state === 'PAUSED') ||
    (waitingFor ?? []).some(({ command }) => command === 'resume')
  );
}

function addSimple(program: Command, { name, description, ...acceptance }: SimpleCommand): void {
  addJson(addWait(serviceCommand(program, name, description), acceptance.what)).action(
    async (options: ServiceOptions & WaitOptions & JsonOption) => {
      const client = clientOf(options);
      const reply = await client[name]();
      if (!options.json) for (const line of waitingLines(name, reply.waitingFor)) console.log(line);
      await endAccepted(client, reply, acceptance, options);
    },
  );
}
