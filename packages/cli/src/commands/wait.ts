import type { ContractClient } from '@convoy/api/client/contract-client';
import type { SuccessReply } from '@convoy/api/contract/reply';
import { InvalidArgumentError, type Command } from 'commander';
import { nextStep } from '@convoy/api/contract/next-step';
import { follow } from '../environment/fleet/follow.js';
import { coloured } from '../progress-view/colours.js';
import { LiveView } from '../progress-view/live-view.js';
import type { ShownProgress } from '../progress-view/progress-lines.js';
import { interruption } from './interruption.js';
import type { JsonOption } from './json-output.js';
import { readProgress } from './service.js';

/** Default limit of a wait: longer than any migration. */
const waitMax_seconds = 30 * 24 * 3600;

/** Value of `--wait`: a limit in seconds, true without one, undefined when left out. */
export interface WaitOptions {
  wait?: number | true;
}

/** Adds `--wait` to a command. */
export function addWait(command: Command, what: string): Command {
  return command.option('--wait [seconds]', `wait until ${what}, up to this time`, parseSeconds);
}

/** What `--wait` waits for, and what a command prints without it. */
export interface Acceptance {
  /** Message after the command was accepted. */
  then: string;
  /** Condition of `--wait`. */
  what: string;
  until: (progress: ShownProgress) => boolean;
}

/** Ends a command that the service has accepted: prints its reply, or waits for its condition. */
export async function endAccepted(
  client: ContractClient,
  reply: SuccessReply,
  { then, what, until }: Acceptance,
  { wait, json }: WaitOptions & JsonOption,
): Promise<void> {
  if (wait === undefined) console.log(json ? JSON.stringify(reply) : then);
  else if (!json) await watchUntil(client, what, until, { wait });
  else {
    const progress = await watchUntil(client, what, until, { wait, view: silentView });
    console.log(JSON.stringify({ ...reply, progress }));
  }
}

/** Shows changing progress. */
interface ProgressView {
  show(progress: ShownProgress, texts?: { footer?: string }): void;
  end(): void;
}

const silentView: ProgressView = { show: () => undefined, end: () => undefined };

/**
 * Shows the progress until a condition holds, and prints the next step.
 * @throws ConvoyError when the migration failed or the service does not respond, `NotInTime`, `Interrupted` as the
 * cause
 */
export async function watchUntil(
  client: ContractClient,
  what: string,
  until: (progress: ShownProgress) => boolean,
  { wait = true, view = new LiveView(process.stdout) }: { wait?: number | true; view?: ProgressView } = {},
): Promise<ShownProgress> {
  const signal = interruption('The migration continues. Follow it with: convoy watch');
  try {
    // Reports a wrong address immediately; only later failures count as temporary.
    view.show(await readProgress(client, signal));
    const progress = await follow(() => readProgress(client, signal), {
      what,
      limit_ms: (wait === true ? waitMax_seconds : wait) * 1000,
      until,
      show: (shown) => view.show(shown, { footer: `Next: ${nextStep(shown)}` }),
      signal,
    });
    view.end();
    if (view instanceof LiveView && !process.stdout.isTTY) console.log(coloured(`Next: ${nextStep(progress)}`));
    return progress;
  } finally {
    view.end();
  }
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= waitMax_seconds) return seconds;
  throw new InvalidArgumentError(`It must be a whole number of seconds from 1 to ${waitMax_seconds}.`);
}
