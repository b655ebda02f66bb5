import { setTimeout as delay } from 'node:timers/promises';
import { ContractClient } from '@convoy/api/client/contract-client';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { Option, type Command } from 'commander';
import { LiveView } from '../progress-view/live-view.js';
import { progressBlock, type ShownProgress } from '../progress-view/progress-lines.js';
import { addStartOptions, startBody, type StartOptions } from './start-options.js';

/** Where a coordinator process listens unless it is told otherwise. */
const defaultUrl = 'http://127.0.0.1:27180';
const watchInterval_ms = 500;

interface ServiceOptions {
  url: string;
  token?: string;
}

/** Adds the commands that call a running coordinator or instance. */
export function addServiceCommands(program: Command): void {
  addStart(program);
  for (const { name, description, then } of simpleCommands) {
    serviceCommand(program, name, description).action(async (options: ServiceOptions) => {
      await clientOf(options)[name]();
      console.log(then);
    });
  }
  serviceCommand(program, 'progress', 'print the progress once')
    .option('--json', 'print the reply as it is')
    .action(async (options: ServiceOptions & { json?: boolean }) => {
      const reply = await readProgress(clientOf(options));
      console.log(options.json ? JSON.stringify(reply) : progressBlock(reply).join('\n'));
    });
  serviceCommand(program, 'watch', 'show the progress as it changes, until the migration is committed').action(watch);
}

const simpleCommands = [
  { name: 'pause', description: 'pause the migration', then: 'Paused. Go on with: convoy resume' },
  { name: 'resume', description: 'go on with a paused migration', then: 'Running again. Follow it with: convoy watch' },
  {
    name: 'commit',
    description: 'end the migration: the destination takes over',
    then: 'The commit has begun. Write to the destination once canWrite is true: convoy watch',
  },
  { name: 'reverse', description: 'swap source and destination of a committed migration', then: 'Reversing. Follow it with: convoy watch' },
] as const;

function addStart(program: Command): void {
  addStartOptions(serviceCommand(program, 'start', 'start a migration')).action(async (options: ServiceOptions & StartOptions) => {
    await clientOf(options).start(startBody(options));
    console.log('Started. Follow it with: convoy watch');
  });
}

async function watch(options: ServiceOptions): Promise<void> {
  const client = clientOf(options);
  const view = new LiveView(process.stdout);
  for (;;) {
    const progress = await readProgress(client);
    view.show(progress);
    if (progress.state === 'COMMITTED') break;
    await delay(watchInterval_ms);
  }
  view.end();
}

/** A coordinator answers for the fleet; an instance has the contract's fields alone. */
async function readProgress(client: ContractClient): Promise<ShownProgress> {
  try {
    return (await client.fleetProgress()).progress;
  } catch (error) {
    if (!(error instanceof ConvoyError && error.error === 'unexpectedReply')) throw error;
    return (await client.progress()).progress;
  }
}

function serviceCommand(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .addOption(new Option('--url <url>', 'address of the coordinator, or of an instance').env('CONVOY_URL').default(defaultUrl))
    .addOption(new Option('--token <token>', 'bearer token').env('CONVOY_TOKEN'));
}

function clientOf({ url, token }: ServiceOptions): ContractClient {
  return new ContractClient(url, token === undefined ? {} : { token });
}
