import type { Doc } from '../bson/value.js';
import { CommandError, type CommandRequest } from './command.js';

/**
 * The refusal of a feature that real servers have and this simulation does not. It is never ignored, nor answered as if
 * it did not exist.
 */
export function unsimulated(what: string): CommandError {
  return new CommandError(115, 'CommandNotSupported', `${what} ${suffix}`);
}

/** Stands for a whole command that is not simulated. @throws CommandError 115 */
export function refuseUnsimulated({ name }: CommandRequest): Doc {
  throw unsimulated(name);
}

/** Whether a refusal says that something is not simulated. */
export function isUnsimulated({ message }: CommandError): boolean {
  return message.endsWith(suffix);
}

const suffix = 'is not part of this simulation';
