import { CommandError } from '../node/command.js';

/** A query, update or stage the server answers with code 2. */
export function badValue(message: string): CommandError {
  return new CommandError(2, 'BadValue', message);
}

/** A text that cannot be understood: code 9. */
export function failedToParse(message: string): CommandError {
  return new CommandError(9, 'FailedToParse', message);
}

/** A value of the wrong type: code 14. */
export function typeMismatch(message: string): CommandError {
  return new CommandError(14, 'TypeMismatch', message);
}

/** An error that has only a code. */
export function located(code: number, message: string): CommandError {
  return new CommandError(code, `Location${code}`, message);
}
