import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { ContractClient } from '@convoy/api/client/contract-client';
import type { StartRequestBody } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { LiveView } from '../progress-view/live-view.js';
import { progressBlock, type ShownProgress } from '../progress-view/progress-lines.js';

/** Where a coordinator process listens unless it is told otherwise. */
const defaultUrl = 'http://127.0.0.1:27180';
const watchInterval_ms = 500;

interface ServiceOptions {
  url: string;
  token?: string;
}

interface StartOptions extends ServiceOptions {
  source: string;
  destination: string;
  buildIndexes?: 'beforeDataCopy' | 'never';
  enableUserWriteBlocking?: boolean;
  reversible?: boolean;
  verification: boolean;
  include?: StartRequestBody['includeNamespaces'];
  exclude?: StartRequestBody['excludeNamespaces'];
  sharding?: StartRequestBody['sharding'];
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
  serviceCommand(program, 'start', 'start a migration')
    .requiredOption('--source <cluster>', 'name of the source cluster', 'cluster0')
    .requiredOption('--destination <cluster>', 'name of the destination cluster', 'cluster1')
    .addOption(new Option('--build-indexes <when>', 'when indexes are built').choices(['beforeDataCopy', 'never']))
    .option('--enable-user-write-blocking', 'block writes on the destination until the commit, and on the source from then on')
    .option('--reversible', 'allow a reverse after the commit')
    .option('--no-verification', 'do without the embedded verifier')
    .option('--include <json>', 'includeNamespaces, as JSON or @file', parseJson)
    .option('--exclude <json>', 'excludeNamespaces, as JSON or @file', parseJson)
    .option('--sharding <json>', 'sharding document, as JSON or @file', parseJson)
    .action(async (options: StartOptions) => {
      await clientOf(options).start(startBody(options));
      console.log('Started. Follow it with: convoy watch');
    });
}

/** The request with only those fields that were asked for, so that the service's defaults hold for the others. */
function startBody(options: StartOptions): StartRequestBody {
  const { source, destination, buildIndexes, enableUserWriteBlocking, reversible, include, exclude, sharding } = options;
  return {
    source,
    destination,
    ...(buildIndexes && { buildIndexes }),
    ...(enableUserWriteBlocking && { enableUserWriteBlocking }),
    ...(reversible && { reversible }),
    ...(include && { includeNamespaces: include }),
    ...(exclude && { excludeNamespaces: exclude }),
    ...(sharding && { sharding }),
    ...(!options.verification && { verification: { enabled: false } }),
  };
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}
