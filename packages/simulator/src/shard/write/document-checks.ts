import { ElementType } from '../../bson/element-type.js';
import { elementName, scanElements, scanTopLevel } from '../../bson/scan.js';
import { CommandError } from '../../node/command.js';

/** Refuses values that may not be an `_id`: arrays, regular expressions, undefined, documents with `$` fields. */
export function refuseInvalidId(document: Uint8Array): void {
  const id = scanTopLevel(document, '_id');
  if (id === undefined) return;
  switch (id.type) {
    case ElementType.array:
      throw invalidId('array');
    case ElementType.regex:
      throw invalidId('regex');
    case ElementType.undefined:
      throw invalidId('undefined');
    case ElementType.document:
      for (const element of scanElements(document, id.valueStart)) refuseDollar(elementName(document, element));
      return;
    default:
  }
}

function refuseDollar(name: string): void {
  if (!name.startsWith('$')) return;
  throw new CommandError(
    52,
    'DollarPrefixedFieldName',
    `_id fields may not contain '$'-prefixed fields: ${name} is not valid for storage.`,
  );
}

function invalidId(type: string): CommandError {
  return new CommandError(53, 'InvalidIdField', `The '_id' value cannot be of type ${type}`);
}
