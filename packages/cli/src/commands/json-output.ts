import { type FailureReply, failureReply } from '@convoy/api/contract/reply';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { type Command, CommanderError } from 'commander';
import { NotInTime } from '../environment/fleet/follow.js';
import { isInterruption } from './interruption.js';

/** Whether results and failures are printed as JSON. */
export interface JsonOption {
  json?: boolean;
}

/** Adds `--json`. */
export function addJson(command: Command, text = 'print the result as JSON'): Command {
  return command.option('--json', text);
}

/** Whether the arguments of a command have `--json`; also for usage errors, which come before its flags are known. */
export function wantsJson(args: readonly string[]): boolean {
  return args.includes('--json');
}

/**
 * A failure in the shape of the service's failures. Names that the service does not have: `usageError`, `notInTime`,
 * `interrupted`.
 * @param description text of a failure that is none of Convoy's own
 */
export function failureOutput(error: unknown, description: string): FailureReply {
  if (error instanceof ConvoyError) return failureReply(error);
  if (error instanceof CommanderError) return failure('usageError', error.message.replace(/^error: /, ''));
  if (error instanceof NotInTime) return failure('notInTime', error.message);
  if (isInterruption(error)) return failure('interrupted', 'Interrupted by a signal.');
  return failure('internalError', description);
}

function failure(error: string, errorDescription: string): FailureReply {
  return { success: false, error, errorDescription };
}
