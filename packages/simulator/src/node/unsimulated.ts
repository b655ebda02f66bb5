import { CommandError } from './command.js';

/**
 * The refusal of a feature that real servers have and this simulation does not. It is never ignored, nor answered as if
 * it did not exist.
 */
export function unsimulated(what: string): CommandError {
  return new CommandError(115, 'CommandNotSupported', `${what} ${suffix}`);
}

/** Whether a refusal says that something is not simulated. */
export function isUnsimulated({ message }: CommandError): boolean {
  return message.endsWith(suffix);
}

const suffix = 'is not part of this simulation';
