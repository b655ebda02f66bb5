import { CommandError } from '../node/command.js';
import type { Value } from '../bson/value.js';
import { valueText } from '../bson/text.js';

/** A path leads through a value that has no fields. */
export function pathNotViable(name: string, owner: string, value: Value): CommandError {
  return new CommandError(
    28,
    'PathNotViable',
    `Cannot create field '${name}' in element {${owner}: ${valueText(value)}}`,
  );
}

/** Two operators change the same path. */
export function conflict(path: string, at: string): CommandError {
  return new CommandError(
    40,
    'ConflictingUpdateOperators',
    `Updating the path '${path}' would create a conflict at '${at}'`,
  );
}

/** `_id` was changed. */
export function immutableId(message: string): CommandError {
  return new CommandError(66, 'ImmutableField', message);
}

/** A field name that may not be stored. */
export function dollarPrefixed(message: string): CommandError {
  return new CommandError(52, 'DollarPrefixedFieldName', message);
}
