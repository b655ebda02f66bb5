import { CommandError } from './command.js';

/** A command does not support its read concern. A router adds no times to this failure. */
export class ReadConcernRefused extends CommandError {
  constructor(message: string) {
    super(72, 'InvalidOptions', message);
  }
}
