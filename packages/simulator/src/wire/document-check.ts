import { ElementType, readInt32 } from '../bson/element-type.js';
import { CommandError } from '../node/command.js';

/** Limit of nested documents. */
const depthMax = 200;
const documentBytesMin = 5;
/** Largest document that servers accept, commands included: 16 MB and 16 KB. */
export const documentBytesMax = 16 * 1024 * 1024 + 16 * 1024;

/**
 * Walks through a document and everything in it, as a server does with all input of clients. Text is not checked: bytes
 * that are not UTF-8 are stored unchanged.
 * @returns the document's length
 * @throws CommandError 22 (InvalidBSON) for wrong lengths, ends or types, 15 (Overflow) for too deep nesting, 10334
 * (BSONObjectTooLarge) for a document that is too large
 */
export function checkDocument(bytes: Uint8Array, from = 0, limit = bytes.length): number {
  const size = checkLevel(bytes, from, limit, 1);
  if (size > documentBytesMax) throw documentTooLarge(size);
  return size;
}

function checkLevel(bytes: Uint8Array, from: number, limit: number, depth: number): number {
  if (depth > depthMax)
    throw new CommandError(15, 'Overflow', `BSONObj exceeded maximum nested object depth: ${depthMax}`);
  const size = from + 4 > limit ? -1 : readInt32(bytes, from);
  if (size < documentBytesMin || size > limit - from || bytes[from + size - 1] !== 0)
    throw invalid('incorrect BSON length');
  const end = from + size - 1;
  let at = from + 4;
  while (at < end) {
    const type = bytes[at] ?? 0;
    let name = at + 1;
    while (bytes[name] !== 0) name += 1;
    if (name >= end) throw invalid('not null terminated string');
    at = checkValue(bytes, type, name + 1, end, depth);
    if (at > end) throw invalid('value exceeds its document');
  }
  return size;
}

/** Returns the index after a value. */
function checkValue(bytes: Uint8Array, type: number, at: number, end: number, depth: number): number {
  switch (type) {
    case ElementType.int32:
      return at + 4;
    case ElementType.string:
    case ElementType.code:
    case ElementType.symbol:
      return checkText(bytes, at, end);
    case ElementType.document:
    case ElementType.array:
      return at + checkLevel(bytes, at, end, depth + 1);
    case ElementType.objectId:
      return at + 12;
    case ElementType.double:
    case ElementType.int64:
    case ElementType.date:
    case ElementType.timestamp:
      return at + 8;
    case ElementType.boolean:
      if ((bytes[at] ?? 0) > 1) throw invalid('invalid boolean value');
      return at + 1;
    case ElementType.null:
    case ElementType.undefined:
    case ElementType.minKey:
    case ElementType.maxKey:
      return at;
    default:
      return checkRareValue(bytes, type, at, end, depth);
  }
}

function checkRareValue(bytes: Uint8Array, type: number, at: number, end: number, depth: number): number {
  switch (type) {
    case ElementType.binary: {
      const length = readLength(bytes, at, end);
      if (length < 0) throw invalid('binary data of negative length');
      return at + 5 + length;
    }
    case ElementType.decimal128:
      return at + 16;
    case ElementType.regex:
      return checkEnded(bytes, checkEnded(bytes, at, end), end);
    case ElementType.dbPointer:
      return checkText(bytes, at, end) + 12;
    case ElementType.codeWithScope:
      return checkCodeWithScope(bytes, at, end, depth);
    default:
      throw invalid(`unrecognized BSON type ${type}`);
  }
}

function checkCodeWithScope(bytes: Uint8Array, at: number, end: number, depth: number): number {
  const whole = readLength(bytes, at, end);
  if (whole < 0 || whole > end - at) throw invalid('invalid CodeWithScope size');
  const scope = checkText(bytes, at + 4, at + whole);
  if (scope > at + whole || scope + checkLevel(bytes, scope, at + whole, depth + 1) !== at + whole)
    throw invalid('invalid CodeWithScope size');
  return at + whole;
}

function checkText(bytes: Uint8Array, at: number, end: number): number {
  const length = readLength(bytes, at, end);
  const next = at + 4 + length;
  if (length < 1 || next > end || bytes[next - 1] !== 0) throw invalid('invalid string length');
  return next;
}

function checkEnded(bytes: Uint8Array, at: number, end: number): number {
  const zero = bytes.indexOf(0, at);
  if (zero < 0 || zero >= end) throw invalid('not null terminated string');
  return zero + 1;
}

function readLength(bytes: Uint8Array, at: number, end: number): number {
  if (at + 4 > end) throw invalid('value exceeds its document');
  return readInt32(bytes, at);
}

/** The error of a document that is larger than servers handle. */
export function documentTooLarge(size: number): CommandError {
  const hex = `0x${size.toString(16).toUpperCase()}`;
  return new CommandError(
    10334,
    'BSONObjectTooLarge',
    `BSONObj size: ${size} (${hex}) is invalid. Size must be between 0 and ${documentBytesMax}(16MB)`,
  );
}

function invalid(reason: string): CommandError {
  return new CommandError(22, 'InvalidBSON', reason);
}
