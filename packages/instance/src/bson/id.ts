import type { Document } from 'mongodb';
import { canonicalType, elementType } from './element-type.js';
import { compareRaw, numberText } from './order.js';
import { bufferOf, elementsOf, findValue, int32At, nullValue, rawValue, type RawValue } from './scan.js';
import { isCondition, isLossless, losslessValue } from './sent-value.js';

// The four questions about an `_id`, with the exceptions that each answer has:
//   Do two of them stand for one document?  Those of one `idClass` do.
//   Does a command carry it unchanged?      `isSendable`; `idFilter` asks for any of them.
//   May a range of documents end at it?     `mayBound`.
//   Where is it in the index?               `compareIds`.

/** The `_id` of a document as a view; BSON's null if there is none. */
export function idOrNull(document: Uint8Array): RawValue {
  return findValue(document, '_id') ?? nullValue;
}

/** The one class of all values that a collation other than the simple one may treat as equal. */
const collatedClass = 'collated';

/**
 * Values that the `_id` index treats as equal have the same class: numbers of one value, a symbol and its string,
 * documents of equal fields. With `collated`, all values that contain a string anywhere share one class: only the
 * server knows which of them its collation treats as equal.
 * @param collated the collection's collation is not the simple one
 */
export function idClass(value: RawValue, collated: boolean): string {
  if (collated && containsString(value)) return collatedClass;
  return classText(value);
}

/** Whether a value contains a string at any depth. Only a server knows how a collation orders such values. */
function containsString(value: RawValue): boolean {
  const { type } = value;
  if (type === elementType.string || type === elementType.symbol) return true;
  if (type !== elementType.document && type !== elementType.array) return false;
  for (const element of elementsOf(value.bytes)) {
    if (containsString(rawValue(value.bytes, element))) return true;
  }
  return false;
}

/** Every part carries its length or an end marker, so that different values never have the same text. */
function classText(value: RawValue): string {
  switch (value.type) {
    case elementType.int32:
    case elementType.long:
    case elementType.double:
    case elementType.decimal:
      return `#${numberText(value)}`;
    case elementType.string:
    case elementType.symbol:
      return sized('"', value.bytes, 4, value.bytes.length - 1);
    case elementType.document:
      return `{${fieldsText(value.bytes, true)}}`;
    case elementType.array:
      return `[${fieldsText(value.bytes, false)}]`;
    case elementType.codeWithScope:
      return scopedCodeText(value.bytes);
    default:
      return sized(`t${canonicalType(value.type)}:`, value.bytes, 0, value.bytes.length);
  }
}

function sized(mark: string, bytes: Uint8Array, start: number, end: number): string {
  return `${mark}${end - start}:${bufferOf(bytes).toString('latin1', start, end)}`;
}

function fieldsText(bytes: Uint8Array, withNames: boolean): string {
  let text = '';
  for (const element of elementsOf(bytes)) {
    const name = withNames ? `${element.name.length}:${element.name}=` : '';
    text += `${name}${classText(rawValue(bytes, element))},`;
  }
  return text;
}

function scopedCodeText(bytes: Uint8Array): string {
  const scope = 8 + int32At(bytes, 4);
  return `${sized('$', bytes, 8, scope)}{${fieldsText(bytes.subarray(scope), true)}}`;
}

/** Whether a query can hold an `_id`, or an index bound, so that the server gets the same bytes (see `isLossless`). */
export function isSendable(id: RawValue): boolean {
  return isLossless(id);
}

/**
 * Matches the documents of some `_id`s, and all documents with the type of an `_id` that cannot be sent. `$in` takes no
 * `_id` that a server reads as a condition.
 */
export function idFilter(ids: readonly RawValue[]): Document {
  const listed: unknown[] = [];
  const others: Document[] = [];
  const types = new Set<number>();
  for (const id of ids) {
    if (!isSendable(id)) types.add(id.type);
    else if (isCondition(id)) others.push({ _id: { $eq: losslessValue(id) } });
    else listed.push(losslessValue(id));
  }
  if (types.size > 0) others.push({ _id: { $type: [...types] } });
  const filter = { _id: { $in: listed } };
  return others.length === 0 ? filter : { $or: [filter, ...others] };
}

/**
 * Whether an `_id` can bound two ranges of a collection: it can be sent to servers unchanged, all clients find the same
 * `_id`s below it, and it is not MaxKey, where the range before it would end.
 * @param collated the collection's collation is not the simple one
 */
export function mayBound(id: RawValue, collated: boolean): boolean {
  return isSendable(id) && id.type !== elementType.maxKey && !(collated && containsString(id));
}

/**
 * The order of `_id`s in an index with the simple collation, in which Convoy reads ranges.
 * @returns negative, 0 or positive
 */
export function compareIds(a: RawValue, b: RawValue): number {
  return compareRaw(a, b);
}
