import { BSONSymbol, Code, Double, Int32, Timestamp, BSONRegExp } from 'bson';
import { compareStrings } from '../../bson/compare.js';
import { computedText } from '../../bson/computed-text.js';
import { isNumber, toNumber } from '../../bson/exact-number.js';
import { typeName } from '../../bson/type-of.js';
import { decodeUtf8, encodeUtf8 } from '../../bson/utf8.js';
import { DateTime, type Value, type Doc } from '../../bson/value.js';
import { unsimulated } from '../../node/unsimulated.js';
import { located } from '../../query/query-error.js';
import { compileRegex } from '../../query/regex.js';
import {
  type Compile,
  type Evaluate,
  fixed,
  namedArguments,
  type OperatorTable,
  searching,
  sequential,
} from '../operator.js';
import { isNullish } from '../truth.js';
import { isoText } from './date.js';

/** Operators on texts. */
export const textOperators: OperatorTable = {
  $concat: sequential(concat),
  $toLower: fixed(1, ([value]) => textOf(value).replace(/[A-Z]/g, (letter) => letter.toLowerCase())),
  $toUpper: fixed(1, ([value]) => upperCase(textOf(value))),
  $strcasecmp: fixed(2, ([a, b]) => new Int32(Math.sign(compareStrings(upperCase(textOf(a)), upperCase(textOf(b)))))),
  $strLenCP: fixed(1, ([value]) => new Int32(Array.from(onlyText(value, 34471, '$strLenCP')).length)),
  $strLenBytes: fixed(1, ([value]) => new Int32(encodeUtf8(onlyText(value, 34473, '$strLenBytes')).length)),
  $substrBytes: fixed(3, substringBytes),
  $substrCP: fixed(3, substringPoints),
  $split: fixed(2, ([value, separator]) => {
    if (isNullish(value) || isNullish(separator)) return null;
    const [text, by] = [onlyText(value, 40085, '$split'), onlyText(separator, 40086, '$split')];
    if (by === '') throw located(40087, '$split requires a non-empty separator');
    return text.split(by);
  }),
  $indexOfCP: searching((value, searched) => {
    if (isNullish(value)) return null;
    const points = Array.from(onlyText(value, 40093, '$indexOfCP'));
    const wanted = Array.from(onlyText(searched, 40094, '$indexOfCP'));
    return new Int32(points.findIndex((_, at) => wanted.every((point, index) => points[at + index] === point)));
  }),
  $indexOfBytes: searching((value, searched) => {
    if (isNullish(value)) return null;
    const bytes = encodeUtf8(onlyText(value, 40091, '$indexOfBytes'));
    return new Int32(bytes.indexOf(encodeUtf8(onlyText(searched, 40092, '$indexOfBytes'))));
  }),
  $trim: (operand, compile) => compileTrim(operand, compile, '$trim', true, true),
  $ltrim: (operand, compile) => compileTrim(operand, compile, '$ltrim', true, false),
  $rtrim: (operand, compile) => compileTrim(operand, compile, '$rtrim', false, true),
  $replaceOne: (operand, compile) => compileReplace(operand, compile, '$replaceOne', false),
  $replaceAll: (operand, compile) => compileReplace(operand, compile, '$replaceAll', true),
  $regexMatch: (operand, compile, name) =>
    compileRegexOperator(operand, compile, name, false, (text, regex) => regex.test(text)),
  $regexFind: (operand, compile, name) =>
    compileRegexOperator(operand, compile, name, null, (text, regex) => found(text, regex.exec(text))),
  $regexFindAll: (operand, compile, name) =>
    compileRegexOperator(operand, compile, name, [], (text, regex) =>
      [...text.matchAll(new RegExp(regex, `${regex.flags}g`))].map((match) => found(text, match)),
    ),
};

const SPACES = ' \t\n\v\f\r\0\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a';

function concat(values: Iterable<Value | undefined>): Value {
  let text = '';
  for (const value of values) {
    if (isNullish(value)) return null;
    text += onlyText(value, 16702, '$concat');
  }
  return text;
}

/** Only ASCII letters change their case here. */
function upperCase(text: string): string {
  return text.replace(/[a-z]/g, (letter) => letter.toUpperCase());
}

function onlyText(value: Value | undefined, code: number, name: string): string {
  if (typeof value === 'string') return value;
  throw located(
    code,
    refusals[code]?.(typeName(value), value, name) ?? `${name} requires a string argument, found: ${typeName(value)}`,
  );
}

/** How servers refuse a value that is no text, by code. */
const refusals: Readonly<Record<number, (type: string, value: Value | undefined, name: string) => string>> = {
  16702: (type) => `$concat only supports strings, not ${type}`,
  40085: (type) => `$split requires an expression that evaluates to a string as a first argument, found: ${type}`,
  40086: (type) => `$split requires an expression that evaluates to a string as a second argument, found: ${type}`,
  40091: (type) => `$indexOfBytes requires a string as the first argument, found: ${type}`,
  40092: (type) => `$indexOfBytes requires a string as the second argument, found: ${type}`,
  40093: (type) => `$indexOfCP requires a string as the first argument, found: ${type}`,
  40094: (type) => `$indexOfCP requires a string as the second argument, found: ${type}`,
  50699: (type, value, name) =>
    `${name} requires its input to be a string, got ${computedText(value)} (of type ${type}) instead.`,
  50700: (type, value, name) =>
    `${name} requires 'chars' to be a string, got ${computedText(value)} (of type ${type}) instead.`,
  51744: (_type, value, name) => `${name} requires that 'replacement' be a string, found: ${computedText(value)}`,
  51745: (_type, value, name) => `${name} requires that 'find' be a string, found: ${computedText(value)}`,
  51746: (_type, value, name) => `${name} requires that 'input' be a string, found: ${computedText(value)}`,
};

/** A value as text where operators convert: numbers and dates too, null as nothing. */
function textOf(value: Value | undefined): string {
  if (isNullish(value)) return '';
  if (typeof value === 'string') return value;
  if (value instanceof Double) return computedText(value);
  if (isNumber(value)) return value.toString();
  if (value instanceof DateTime) return isoText(value);
  if (value instanceof BSONSymbol) return value.value;
  if (value instanceof Code) return value.code;
  if (value instanceof Timestamp) return timestampText(value);
  throw located(16007, `can't convert from BSON type ${typeName(value)} to String`);
}

/** For example `Jan  1 00:00:03:1`. */
function timestampText({ t, i }: Timestamp): string {
  const [, day = '', month = '', , time = ''] = new Date(t * 1000).toUTCString().split(' ');
  return `${month} ${String(Number(day)).padStart(2)} ${time}:${i}`;
}

function numberOf(value: Value | undefined): number {
  if (isNumber(value)) return toNumber(value);
  throw located(16034, `starting index and length must be numbers (is BSON type ${typeName(value)})`);
}

function substringBytes([value, start, count]: (Value | undefined)[], name: string): Value {
  const bytes = encodeUtf8(textOf(value));
  const from = numberOf(start);
  if (from < 0) throw located(50752, `${name}:  starting index must be non-negative (got: ${from})`);
  const length = numberOf(count) < 0 ? bytes.length : numberOf(count);
  if (isContinuation(bytes[from]))
    throw located(28656, `${name}:  Invalid range, starting index is a UTF-8 continuation byte.`);
  if (isContinuation(bytes[from + length]))
    throw located(28657, `${name}:  Invalid range, ending index is in the middle of a UTF-8 character.`);
  const part = bytes.subarray(from, from + length);
  return decodeUtf8(part, 0, part.length);
}

/** Whether a byte continues a character. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function substringPoints([value, start, count]: (Value | undefined)[], name: string): Value {
  const points = Array.from(textOf(value));
  const [from, length] = [numberOf(start), numberOf(count)];
  if (length < 0) throw located(34454, `${name}: length must be a nonnegative integer.`);
  if (from < 0) throw located(34455, `${name}: the starting index must be nonnegative integer.`);
  return points.slice(from, from + length).join('');
}

function compileTrim(operand: Value, compile: Compile, name: string, left: boolean, right: boolean): Evaluate {
  const parts = namedArguments(operand, name, ['input', 'chars'], ['input']);
  const input = compile(parts.get('input') ?? null);
  const chars = parts.has('chars') ? compile(parts.get('chars') ?? null) : () => SPACES;
  return (variables) => {
    const text = input(variables);
    const cut = chars(variables);
    if (isNullish(text) || isNullish(cut)) return null;
    return trimmed(Array.from(onlyText(text, 50699, name)), new Set(onlyText(cut, 50700, name)), left, right);
  };
}

function trimmed(points: string[], cut: ReadonlySet<string>, left: boolean, right: boolean): string {
  let from = 0;
  let to = points.length;
  while (left && from < to && cut.has(points[from] ?? '')) from += 1;
  while (right && to > from && cut.has(points[to - 1] ?? '')) to -= 1;
  return points.slice(from, to).join('');
}

function compileReplace(operand: Value, compile: Compile, name: string, all: boolean): Evaluate {
  const parts = namedArguments(operand, name, ['input', 'find', 'replacement'], ['input', 'find', 'replacement']);
  const evaluated = ['input', 'find', 'replacement'].map((part) => compile(parts.get(part) ?? null));
  return (variables) => {
    const values = evaluated.map((evaluate) => evaluate(variables));
    const [text, find, replacement] = values.map((value, index) =>
      isNullish(value) ? undefined : onlyText(value, 51746 - index, name),
    );
    if (text === undefined || find === undefined || replacement === undefined) return null;
    if (all && find === '' && encodeUtf8(text).length > text.length)
      throw unsimulated(`${name} of nothing within characters of several bytes`);
    return all ? text.replaceAll(find, () => replacement) : text.replace(find, () => replacement);
  };
}

/** @param none the result for a missing text or expression */
function compileRegexOperator(
  operand: Value,
  compile: Compile,
  name: string,
  none: Value,
  apply: (text: string, regex: RegExp) => Value,
): Evaluate {
  const required = ['input', 'regex'];
  const parts = namedArguments(operand, name, required, required, ['options']);
  const [input, regex] = required.map((part) => compile(parts.get(part) ?? null)) as [Evaluate, Evaluate];
  return (variables) => {
    const text = input(variables);
    const pattern = regex(variables);
    if (isNullish(text) || isNullish(pattern)) return none;
    if (typeof text !== 'string') throw located(51104, `${name} needs 'input' to be of type string`);
    return apply(text, expressionOf(pattern, name));
  };
}

function expressionOf(pattern: Value, name: string): RegExp {
  if (typeof pattern === 'string') return compileRegex(pattern, '');
  if (pattern instanceof BSONRegExp) throw unsimulated(`${name} by a regular expression of its own type`);
  throw located(51105, `${name} needs 'regex' to be of type string or regex, found: ${typeName(pattern)}`);
}

/** A match with its place in code points and what its groups took. */
function found(text: string, match: RegExpExecArray | null): Value {
  if (match === null) return null;
  const result: Doc = new Map<string, Value>([
    ['match', match[0]],
    ['idx', new Int32(Array.from(text.slice(0, match.index)).length)],
    ['captures', match.slice(1).map((group: string | undefined) => group ?? null)],
  ]);
  return result;
}
