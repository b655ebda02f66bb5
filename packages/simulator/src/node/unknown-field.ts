import { CommandError } from './command.js';

/** The refusal of a field that a command or stage does not have. @param path e.g. `insert.field` */
export function unknownField(path: string): CommandError {
  return new CommandError(40415, 'Location40415', `BSON field '${path}' is an unknown field.`);
}
