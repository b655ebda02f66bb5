import { boundHeap } from '@convoy/instance/process/bound-heap';
import { once } from 'node:events';
import type { Command } from 'commander';
import { interruption } from './interruption.js';
import type { ServiceProcess } from './service-process.js';
import { addSettings, coordinatorSettings, type Flags, instanceSettings } from './settings.js';

/** Time limit of an orderly end, after which the process exits anyway. */
const closeLimit_ms = 8_000;

/** Adds `convoy instance` and `convoy coordinator`. */
export function addProcessCommands(program: Command): void {
  processCommand(
    program,
    'instance',
    'run an instance: sync one source shard, or alone a whole cluster',
    instanceSettings,
  ).action((flags: Flags) =>
    serve('instance', async () => {
      boundHeap();
      return (await import('./instance-service.js')).startInstance(flags);
    }),
  );
  processCommand(
    program,
    'coordinator',
    'run a coordinator: serve the API of the whole fleet',
    coordinatorSettings,
  ).action((flags: Flags) =>
    serve('coordinator', async () => (await import('./coordinator-service.js')).startCoordinator(flags)),
  );
}

function processCommand(
  program: Command,
  name: string,
  description: string,
  settings: Readonly<Record<string, string>>,
): Command {
  return addSettings(program.command(name).description(description), settings);
}

/** Runs a service until the process receives a signal, and then closes it in order. */
async function serve(name: string, start: () => Promise<ServiceProcess>): Promise<void> {
  const signal = interruption();
  const service = await start();
  // On standard output the log's own lines say it: they are JSON only.
  if (service.logsElsewhere) console.log(`${name} listens on ${service.url}`);
  if (!signal.aborted) await once(signal, 'abort');
  // A hanging close must not keep the process alive; all durable state is safe at any instruction.
  setTimeout(() => process.exit(), closeLimit_ms).unref();
  await service.close();
}
