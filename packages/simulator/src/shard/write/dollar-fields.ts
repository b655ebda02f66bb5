import { ElementType } from '../../bson/element-type.js';
import { elementName, scanElements } from '../../bson/scan.js';
import { CommandError } from '../../node/command.js';

const dollar = 0x24;
/** Fields of a database reference, which may start with `$`. */
const referenceFields: ReadonlySet<string> = new Set(['$ref', '$id', '$db']);

/** Refusals of 4.4 for an inserted document: top-level names that start with `$`. @throws CommandError 2 */
export function refuseDollarNamesOf44(document: Uint8Array): void {
  if (!document.includes(dollar)) return;
  for (const element of scanElements(document)) {
    const name = elementName(document, element);
    if (name.startsWith('$'))
      throw new CommandError(2, 'BadValue', `Document can't have $ prefixed field names: ${name}`);
  }
}

/**
 * Refusals of 4.4 for an updated document: names that start with `$` anywhere, except in references.
 * @throws CommandError 52
 */
export function refuseStoredDollarNamesOf44(document: Uint8Array): void {
  if (document.includes(dollar)) refuseWithin(document, 0, '');
}

function refuseWithin(bytes: Uint8Array, from: number, path: string): void {
  for (const element of scanElements(bytes, from)) {
    const name = elementName(bytes, element);
    const at = path === '' ? name : `${path}.${name}`;
    if (name.startsWith('$') && !referenceFields.has(name)) {
      throw new CommandError(
        52,
        'DollarPrefixedFieldName',
        `The dollar ($) prefixed field '${name}' in '${at}' is not valid for storage.`,
      );
    }
    if (element.type === ElementType.document || element.type === ElementType.array)
      refuseWithin(bytes, element.valueStart, at);
  }
}
