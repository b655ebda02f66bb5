import { canonicalType, elementType } from './element-type.js';
import { numberText } from './number.js';
import { bufferOf, elementsOf, int32At, rawValue, type RawValue } from './scan.js';

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
export function containsString(value: RawValue): boolean {
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
