import { CommandError } from './command.js';

/** A command and its read concern do not go together. A router tells no times with this failure. */
export class ReadConcernRefused extends CommandError {
  constructor(message: string) {
    super(72, 'InvalidOptions', message);
  }
}
