import { DocumentBuilder } from '../bson/build.js';
import { bufferOf, cstringEnd, elementsOf, readString, undecodedElementsOf } from '../bson/scan.js';
import type { Delta, FieldValue, Folded } from './delta.js';

/** Fields whose absence a filter asks for; a filter with more costs more than a pipeline. */
const absentMax = 20;
/** Of a condition on an absent field, about. */
const absentBytes = 48;
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
      return delta.append.size === 0 && writeFolded(builder, delta);
    case 'paths':
      return false;
  }
}

/**
 * Whether operators make the change if the document has none of the fields that come last: then they are new. Only the
 * destination's document shows that, so the statement's filter asks for it (`absentFilter`).
 */
export function needsAbsence(delta: Delta): delta is Delta & Folded {
  if (delta.form !== 'folded' || delta.moves) return false;
  const { append } = delta;
  return (
    append.size > 0 && append.size <= absentMax && isInServerOrder(leftOf(delta)) && isInServerOrder(append.values())
  );
}

/** Writes the change of a document that has none of the fields that come last, as `writeOperators` does. */
export function writeForAbsent(builder: DocumentBuilder, delta: Folded): void {
  writeFolded(builder, delta);
}

/** The filter of a document that has none of the fields that come last. */
export function absentFilter(filter: Uint8Array, { append }: Folded): Uint8Array {
  const builder = new DocumentBuilder(filter.length + append.size * absentBytes);
  for (const element of undecodedElementsOf(filter)) builder.copied(filter, element.nameStart, element);
  for (const name of append.keys()) builder.begin(name).bool('$exists', false).end();
  return builder.finish();
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
function leftOf({ set, unset }: Folded): FieldValue[] {
  const left: FieldValue[] = [];
  for (const [name, value] of set) if (!unset.has(name)) left.push(value);
  return left;
}

function writeFolded(builder: DocumentBuilder, delta: Folded): boolean {
  const { unset, append } = delta;
  const left = leftOf(delta);
  if (!isInServerOrder(left)) return false;
  left.push(...append.values());
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
