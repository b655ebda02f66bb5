import { once } from 'node:events';
import type { Command } from 'commander';
import type { ReceiverResult } from '@convoy/coordinator/notifications/post-notification';
import { boundHeap } from '@convoy/instance/process/bound-heap';
import { endWith, exitCodes } from './exit-code.js';
import { interruption } from './interruption.js';
import { addJson, type JsonOption } from './json-output.js';
import { addSettings, coordinatorSettings, type Flags, instanceSettings, sourcesOf } from './settings.js';

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

/** A process that serves requests. */
export interface ServiceProcess {
  readonly url: string;
  /** Its log is a file; standard output is for people. */
  readonly logsElsewhere: boolean;
  close(): Promise<void>;
}

interface NotifyOptions extends JsonOption {
  config?: string;
}

/** Adds the command that tries the receivers of notifications. */
export function addNotifyCommand(program: Command): void {
  addJson(program.command('notify'))
    .description('send a test notification to every configured receiver')
    .option('--config <file>', 'configuration of the coordinator, or of a lone instance')
    .action(async ({ config, json }: NotifyOptions) => {
      const flags: Flags = config === undefined ? {} : { config };
      const results = await tryReceivers(flags);
      console.log(json ? JSON.stringify({ receivers: results }) : results.map(lineOf).join('\n'));
      endWith(results.every(({ accepted }) => accepted) ? exitCodes.done : exitCodes.failed);
    });
}

async function tryReceivers(flags: Flags): Promise<ReceiverResult[]> {
  const { parseNotifyConfig } = await import('@convoy/coordinator/config/notify-config');
  const { sendTestNotification } = await import('@convoy/coordinator/notifications/post-notification');
  return sendTestNotification(parseNotifyConfig(sourcesOf(flags)), interruption());
}

function lineOf({ receiver, accepted, reason }: ReceiverResult): string {
  return accepted ? `${receiver}: accepted (${reason})` : `${receiver}: not accepted (${reason}). ${hintOf(reason)}`;
}

function hintOf(reason: string): string {
  if (/^HTTP 3/.test(reason)) return 'Set url to the address that it redirects to.';
  if (/^HTTP 40[13]/.test(reason)) return 'Check that both sides have the same secret.';
  if (reason.startsWith('HTTP')) return 'Check url, and the log of the receiver.';
  if (/CERT|SSL|TLS|SIGNATURE/.test(reason)) return 'Check its certificate, or set caFile.';
  return 'Check url, and the network to it.';
}
