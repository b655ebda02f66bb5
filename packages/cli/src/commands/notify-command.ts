import type { ReceiverResult } from '@convoy/coordinator/notifications/send-test';
import type { Command } from 'commander';
import { endWith, exitCodes } from './exit-code.js';
import { interruption } from './interruption.js';
import { addJson, type JsonOption } from './json-output.js';
import { sourcesOf, type Flags } from './settings.js';

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
  const { sendTestNotification } = await import('@convoy/coordinator/notifications/send-test');
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
