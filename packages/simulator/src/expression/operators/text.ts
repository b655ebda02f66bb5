import { BSONSymbol, Int32 } from 'bson';
import { compareStrings } from '../../bson/compare.js';
import { isNumber, toNumber } from '../../bson/exact-number.js';
import { typeName } from '../../bson/type-of.js';
import { decodeUtf8, encodeUtf8 } from '../../bson/utf8.js';
import { DateTime, type Value } from '../../bson/value.js';
import { located } from '../../query/query-error.js';
import { type Compile, type Evaluate, fixed, namedArguments, type OperatorTable, ranged, variadic } from '../operator.js';
import { isNullish } from '../truth.js';
import { isoText } from './date.js';

/** Operators on texts. */
export const textOperators: OperatorTable = {
  $concat: variadic((values) => (values.some(isNullish) ? null : values.map((value) => onlyText(value, 16702, '$concat')).join(''))),
  $toLower: fixed(1, ([value]) => textOf(value).toLowerCase()),
  $toUpper: fixed(1, ([value]) => textOf(value).toUpperCase()),
  $strcasecmp: fixed(2, ([a, b]) => new Int32(Math.sign(compareStrings(textOf(a).toUpperCase(), textOf(b).toUpperCase())))),
  $strLenCP: fixed(1, ([value]) => new Int32(Array.from(onlyText(value, 34471, '$strLenCP')).length)),
  $strLenBytes: fixed(1, ([value]) => new Int32(encodeUtf8(onlyText(value, 34473, '$strLenBytes')).length)),
  $substr: fixed(3, substringBytes),
  $substrBytes: fixed(3, substringBytes),
  $substrCP: fixed(3, ([value, start, count]) => {
    const from = numberOf(start);
    return Array.from(textOf(value)).slice(from, from + numberOf(count)).join('');
  }),
  $split: fixed(2, ([value, separator]) =>
    isNullish(value) || isNullish(separator) ? null : onlyText(value, 40085, '$split').split(onlyText(separator, 40086, '$split')),
  ),
  $indexOfCP: ranged(2, 4, ([value, searched, start, end]) => {
    if (isNullish(value)) return null;
    const points = Array.from(onlyText(value, 40093, '$indexOfCP'));
    const wanted = Array.from(onlyText(searched, 40094, '$indexOfCP'));
    const to = Math.min(points.length, end === undefined ? points.length : numberOf(end)) - wanted.length;
    for (let at = start === undefined ? 0 : numberOf(start); at <= to; at += 1) {
      if (wanted.every((point, index) => points[at + index] === point)) return new Int32(at);
    }
    return new Int32(-1);
  }),
  $indexOfBytes: ranged(2, 4, ([value, searched, start, end]) => {
    if (isNullish(value)) return null;
    const bytes = encodeUtf8(onlyText(value, 40091, '$indexOfBytes'));
    const wanted = encodeUtf8(onlyText(searched, 40092, '$indexOfBytes'));
    const at = bytes.subarray(0, end === undefined ? bytes.length : numberOf(end)).indexOf(wanted, start === undefined ? 0 : numberOf(start));
    return new Int32(at);
  }),
  $trim: (operand, compile) => compileTrim(operand, compile, '$trim', true, true),
  $ltrim: (operand, compile) => compileTrim(operand, compile, '$ltrim', true, false),
  $rtrim: (operand, compile) => compileTrim(operand, compile, '$rtrim', false, true),
  $replaceOne: (operand, compile) => compileReplace(operand, compile, '$replaceOne', false),
  $replaceAll: (operand, compile) => compileReplace(operand, compile, '$replaceAll', true),
};

const SPACES = ' \t\n\v\f\r\0\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a';

function onlyText(value: Value | undefined, code: number, name: string): string {
  if (typeof value === 'string') return value;
  throw located(code, refusals[code]?.(typeName(value)) ?? `${name} requires a string argument, found: ${typeName(value)}`);
}

/** How servers refuse what is no text, by code. */
const refusals: Readonly<Record<number, (type: string) => string>> = {
  16702: (type) => `$concat only supports strings, not ${type}`,
  40085: (type) => `$split requires an expression that evaluates to a string as a first argument, found: ${type}`,
  40086: (type) => `$split requires an expression that evaluates to a string as a second argument, found: ${type}`,
  40091: (type) => `$indexOfBytes requires a string as the first argument, found: ${type}`,
  40092: (type) => `$indexOfBytes requires a string as the second argument, found: ${type}`,
  40093: (type) => `$indexOfCP requires a string as the first argument, found: ${type}`,
  40094: (type) => `$indexOfCP requires a string as the second argument, found: ${type}`,
};

/** A value as text where operators convert: numbers and dates too, null as nothing. */
function textOf(value: Value | undefined): string {
  if (isNullish(value)) return '';
  if (typeof value === 'string') return value;
  if (isNumber(value)) return value.toString();
  if (value instanceof DateTime) return isoText(value);
  if (value instanceof BSONSymbol) return value.value;
  throw located(16007, `can't convert from BSON type ${typeName(value)} to String`);
}

function numberOf(value: Value | undefined): number {
  if (isNumber(value)) return toNumber(value);
  throw located(16034, `starting index and length must be numbers (is BSON type ${typeName(value)})`);
}

function substringBytes([value, start, count]: (Value | undefined)[], name: string): Value {
  const bytes = encodeUtf8(textOf(value));
  const from = numberOf(start);
  if (from < 0) throw located(50752, `${name}: starting index must be non-negative (got: ${from})`);
  const length = numberOf(count);
  const part = bytes.subarray(from, length < 0 ? undefined : from + length);
  return decodeUtf8(part, 0, part.length);
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
    if (values.some(isNullish)) return null;
    const [text = '', find = '', replacement = ''] = values.map((value, index) => onlyText(value, 51746 - index, name));
    return all ? text.replaceAll(find, () => replacement) : text.replace(find, () => replacement);
  };
}
