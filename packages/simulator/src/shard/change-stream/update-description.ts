import { Int32 } from 'bson';
import { decodeDocument } from '../../bson/decode.js';
import type { Doc, Value } from '../../bson/value.js';
import { describeDiff, disambiguatedPaths, updateDiff } from '../../update/describe.js';
import type { UpdateOperation } from '../oplog/entry.js';
import type { EventStyle } from './event-style.js';

/** The changes of an update, as events show them. Undefined for a replacement. */
export function describedUpdate(operation: UpdateOperation, style: EventStyle): Doc | undefined {
  const { version } = style;
  const wholeDocument = operation.replacement || (operation.operators === undefined && !version.atLeast(5));
  if (wholeDocument) return undefined;
  const diff = updateDiff(decodeDocument(operation.before), decodeDocument(operation.after), operation.operators);
  if (diff === undefined) return undefined;
  if (style.rawUpdateDescription) {
    return new Map<string, Value>([
      ['$v', new Int32(2)],
      ['diff', diff],
    ]);
  }
  const { updatedFields, removedFields, truncatedArrays } = describeDiff(diff);
  const description: Doc = new Map<string, Value>([
    ['updatedFields', updatedFields],
    ['removedFields', removedFields],
  ]);
  if (version.atLeast(5)) {
    description.set(
      'truncatedArrays',
      truncatedArrays.map(
        ({ field, newSize }) =>
          new Map<string, Value>([
            ['field', field],
            ['newSize', newSize],
          ]),
      ),
    );
  }
  if (style.expanded && version.atLeast(6, 1)) description.set('disambiguatedPaths', disambiguatedPaths(diff));
  return description;
}
