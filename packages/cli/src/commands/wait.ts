import type { ContractClient } from '@convoy/api/client/contract-client';
import { InvalidArgumentError, type Command } from 'commander';
import { follow } from '../environment/fleet/follow.js';
import { LiveView } from '../progress-view/live-view.js';
import { nextStep } from '../progress-view/next-step.js';
import type { ShownProgress } from '../progress-view/progress-lines.js';
import { interruption } from './interruption.js';
import { readProgress } from './service.js';

/** A wait without a limit of its own: longer than any migration. */
const waitMax_seconds = 30 * 24 * 3600;

/** What `--wait` gives: a limit in seconds, true without one, undefined when it was left out. */
export interface WaitOptions {
  wait?: number | true;
}

/** Adds `--wait` to a command. */
export function addWait(command: Command, what: string): Command {
  return command.option('--wait [seconds]', `wait until ${what}, at most so long`, parseSeconds);
}

/**
 * Shows the progress until a condition holds, and says what to do next.
 * @throws ConvoyError when the migration has failed or the service stays silent, `NotInTime`, `Interrupted` as the cause
 */
export async function watchUntil(
  client: ContractClient,
  what: string,
  until: (progress: ShownProgress) => boolean,
  wait: number | true = true,
): Promise<void> {
  const signal = interruption('The migration goes on. Follow it with: convoy watch');
  const view = new LiveView(process.stdout);
  try {
    // A wrong address is told at once; only later failures are taken for interruptions that pass.
    view.show(await readProgress(client, signal));
    const progress = await follow(() => readProgress(client, signal), {
      what,
      limit_ms: (wait === true ? waitMax_seconds : wait) * 1000,
      until,
      show: (shown) => view.show(shown, { footer: nextStep(shown) }),
      signal,
    });
    view.end();
    if (!process.stdout.isTTY) console.log(nextStep(progress));
  } finally {
    view.end();
  }
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= waitMax_seconds) return seconds;
  throw new InvalidArgumentError(`It must be a whole number of seconds from 1 to ${waitMax_seconds}.`);
}
