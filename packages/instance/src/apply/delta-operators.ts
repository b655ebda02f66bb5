import type { DocumentBuilder } from '../bson/build.js';
import { bufferOf, cstringEnd, elementsOf, readString, undecodedElementsOf } from '../bson/scan.js';
import type { Delta, FieldValue } from './delta.js';

const [digit0, digit9] = [0x30, 0x39];

/** A field, and the bytes that it is in. */
interface PlacedField {
  source: Uint8Array;
  element: { nameStart: number };
}

/**
 * Writes a delta of whole fields as the field `u`: `{$set: {field: value, …}, $unset: {field: '', …}}`.
 *
 * For operators a server does not compare the whole document before and after, as it does for a pipeline. And they
 * change only the first of several fields with one name, as on the source: a pipeline that changes two of them ends a
 * member of 5.0.
 *
 * @returns false, with nothing written, when the operators may not give the same document: `$set` adds new fields in
 * the order of their names, so only deltas in this order are exact
 */
export function writeOperators(builder: DocumentBuilder, delta: Delta): boolean {
  switch (delta.form) {
    case 'fields':
      return writeFields(builder, delta);
    case 'folded':
      return writeFolded(builder, delta);
    case 'paths':
      return false;
  }
}

function writeFields(builder: DocumentBuilder, { updated, removedFields }: Delta & { form: 'fields' }): boolean {
  // An update without operators would replace the document.
  if (updated === null ? removedFields === null : !isInServerOrder(fieldsIn(updated))) return false;
  builder.begin('u');
  if (updated !== null) builder.document('$set', updated);
  if (removedFields !== null) writeUnset(builder, namesIn(removedFields));
  builder.end();
  return true;
}

/** A field that a fold sets and then removes is removed. */
function writeFolded(builder: DocumentBuilder, { set, unset }: Delta & { form: 'folded' }): boolean {
  const left: FieldValue[] = [];
  for (const [name, value] of set) if (!unset.has(name)) left.push(value);
  if (!isInServerOrder(left)) return false;
  if (left.length === 0 && unset.size === 0) return false;
  builder.begin('u');
  if (left.length > 0) {
    builder.begin('$set');
    for (const { source, element } of left) builder.copied(source, element.nameStart, element);
    builder.end();
  }
  if (unset.size > 0) writeUnset(builder, unset);
  builder.end();
  return true;
}

function* namesIn(names: Uint8Array): Generator<string> {
  for (const element of elementsOf(names)) yield readString(names, element);
}

function writeUnset(builder: DocumentBuilder, names: Iterable<string>): void {
  builder.begin('$unset');
  for (const name of names) builder.string(name, '');
  builder.end();
}

function* fieldsIn(source: Uint8Array): Generator<PlacedField> {
  for (const element of undecodedElementsOf(source)) yield { source, element };
}

/** Whether servers handle the fields of a `$set` in the order given: by the bytes of their names. */
function isInServerOrder(fields: Iterable<PlacedField>): boolean {
  let before: Buffer | null = null;
  for (const { source, element } of fields) {
    const name = bufferOf(source).subarray(element.nameStart, cstringEnd(source, element.nameStart));
    if (before !== null && !isBefore(before, name)) return false;
    before = name;
  }
  return true;
}

/** False also for two names that begin with a digit: servers may order these by their numbers. */
function isBefore(name: Buffer, next: Buffer): boolean {
  return !(startsWithDigit(name) && startsWithDigit(next)) && name.compare(next) < 0;
}

function startsWithDigit([first = 0]: Buffer): boolean {
  return first >= digit0 && first <= digit9;
}
