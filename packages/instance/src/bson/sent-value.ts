import { BSON, Binary } from 'mongodb';
import { elementType } from './element-type.js';
import { decodeValue, elementsOf, rawValue, RawValue, findElement, int32At, type NamedElement } from './scan.js';

/** Offset of the type byte in a document with one element: after the document's length. */
const typeOffset = 4;
/** Offset of its value if its name is one letter. */
const valueOffset = 7;

/**
 * Decodes a document so that encoding it again gives the same bytes, for values that become part of a command. Maps
 * keep the order of fields whose names look like numbers; JavaScript objects do not.
 */
export function losslessDocument(bytes: Uint8Array): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  for (const element of elementsOf(bytes)) fields.set(element.name, losslessValue(rawValue(bytes, element)));
  return fields;
}

/** Decodes a value so that encoding it again gives the same bytes. */
export function losslessValue(value: RawValue): unknown {
  if (value.type === elementType.document) return losslessDocument(value.bytes);
  if (value.type === elementType.array)
    return [...elementsOf(value.bytes)].map((element) => losslessValue(rawValue(value.bytes, element)));
  return decodeValue(value);
}

/**
 * Whether `losslessValue` can restore the value: the driver cannot write DBPointers or strings that are not UTF-8.
 * Statements can carry such values, because they are sent as bytes; queries cannot.
 */
export function isLossless(value: RawValue): boolean {
  if (alwaysLossless.has(value.type)) return true;
  try {
    const encoded = BSON.serialize(new Map([['v', losslessValue(value)]]));
    return encoded[typeOffset] === value.type && Buffer.compare(encoded.subarray(valueOffset, -1), value.bytes) === 0;
  } catch {
    return false;
  }
}

/** Most `_id`s are of these types. Each of their values has one form, which the driver keeps. */
const alwaysLossless: ReadonlySet<number> = new Set([elementType.int32, elementType.long, elementType.objectId]);

/** `$`, with which the names of operators begin. */
const dollar = 0x24;

/**
 * Whether a query that holds this value as it is means a condition instead: a regular expression, or a document that
 * begins like operators. A reference with both `$ref` and `$id` is a value (server source: isExpressionDocument).
 * @param start where the value begins in `bytes`
 */
export function isConditionAt(bytes: Uint8Array, type: number, start: number): boolean {
  if (type === elementType.regex) return true;
  if (type !== elementType.document) return false;
  const isEmpty = bytes[start + 4] === 0;
  if (isEmpty || bytes[start + 5] !== dollar) return false;
  const document = bytes.subarray(start, start + int32At(bytes, start));
  return findElement(document, '$ref') === null || findElement(document, '$id') === null;
}

/** The same for a value that is cut out. */
export function isCondition({ type, bytes }: RawValue): boolean {
  return isConditionAt(bytes, type, 0);
}

/**
 * Whether servers take a value as a bound of chunks and zones. For others routers do not know the shard key of a query
 * either, even with `$eq`: an upsert is refused or becomes an insert by the router (server source:
 * isValidShardKeyElementForStorage).
 */
export function isKeyBound({ type, bytes }: RawValue): boolean {
  return type !== elementType.regex && !(type === elementType.document && holdsDollars(bytes));
}

/** Whether a field at any depth has a name that begins with `$`, except for those of references. */
function holdsDollars(document: Uint8Array): boolean {
  const elements = [...elementsOf(document)];
  return elements.slice(referenceLength(elements)).some((element) => {
    if (element.name.startsWith('$')) return true;
    const inside = embedded(document, element);
    return inside !== null && holdsDollars(inside);
  });
}

/** How many fields make up the reference that a document begins with: `$ref`, `$id` and maybe `$db`; 0 without one. */
function referenceLength([first, second, third]: readonly NamedElement[]): number {
  if (first?.name !== '$ref' || first.type !== elementType.string || second?.name !== '$id') return 0;
  return third?.name === '$db' && third.type === elementType.string ? 3 : 2;
}

function embedded(document: Uint8Array, { type, start, end }: NamedElement): Uint8Array | null {
  switch (type) {
    case elementType.document:
    case elementType.array:
      return document.subarray(start, end);
    case elementType.codeWithScope: {
      // The size of all, then that of the code, which is before the scope.
      const scopeStart = start + 8 + int32At(document, start + 4);
      return document.subarray(scopeStart, end);
    }
    default:
      return null;
  }
}

/**
 * Whether a top-level field is `Timestamp(0,0)`, which servers replace with the current time on insert and replacement.
 * Most documents contain no byte with the type's number; one native search rules them out.
 */
export function hasZeroTimestamp(document: Uint8Array): boolean {
  if (document.indexOf(elementType.timestamp) < 0) return false;
  for (const element of elementsOf(document)) {
    if (element.type !== elementType.timestamp) continue;
    if (document.subarray(element.start, element.end).every((byte) => byte === 0)) return true;
  }
  return false;
}

/** A value as its type byte and its bytes: the only form of an `_id` that the metadata database returns unchanged. */
export function storedValue(value: RawValue): Binary {
  return new Binary(typedBytes(value));
}

/** Restores what `storedValue` encoded. */
export function restoredValue(stored: Binary): RawValue {
  return fromTypedBytes(Buffer.from(stored.value()));
}

/** The same as text, for files. */
export function textOfValue(value: RawValue): string {
  return typedBytes(value).toString('base64');
}

/** Restores what `textOfValue` encoded. */
export function valueOfText(text: string): RawValue {
  return fromTypedBytes(Buffer.from(text, 'base64'));
}

function typedBytes({ type, bytes }: RawValue): Buffer {
  return Buffer.concat([Buffer.from([type]), bytes]);
}

function fromTypedBytes(bytes: Buffer): RawValue {
  return new RawValue(bytes.readUInt8(0), bytes.subarray(1));
}
