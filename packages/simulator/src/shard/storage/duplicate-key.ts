import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { documentText } from '../../bson/text.js';
import type { IndexDefinition } from './collection-index.js';

/** The error of a second document under a unique key, with `keyPattern` and `keyValue` as the server gives them. */
export function duplicateKey(namespace: string, index: IndexDefinition, values: readonly Value[]): CommandError {
  const keyValue: Doc = new Map(index.fields.map((field, at) => [field.path, values[at] ?? null]));
  const collation = index.spec.get('collation');
  const under = collation instanceof Map ? ` collation: ${documentText(collation)}` : '';
  return new CommandError(
    11000,
    'DuplicateKey',
    `E11000 duplicate key error collection: ${namespace} index: ${index.name}${under} dup key: ` +
      documentText(keyValue),
    [],
    new Map<string, Value>([
      ['keyPattern', index.spec.get('key') ?? new Map()],
      ['keyValue', keyValue],
    ]),
  );
}
