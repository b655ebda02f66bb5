import { typeName } from '../../bson/type-of.js';
import { DateTime, type Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { unsimulated } from '../../node/unsimulated.js';
import { located } from '../../query/query-error.js';
import { dayOfYear, isoDayOfWeek, isoWeek, weekOfYear } from '../calendar.js';
import { type Compile, type Evaluate, namedArguments, type OperatorTable } from '../operator.js';
import { compileTimeZone, momentOf, timeZone, type TimeZone, wallClock } from '../time-zone.js';
import { isNullish } from '../truth.js';
import { dateOf } from './date.js';

/** Dates to texts and back. */
export const dateTextOperators: OperatorTable = {
  $dateToString: compileDateToString,
  $dateFromString: compileDateFromString,
};

function compileDateToString(operand: Value, compile: Compile): Evaluate {
  const parts = namedArguments(operand, '$dateToString', ['date', 'format', 'timezone', 'onNull'], ['date']);
  const date = compile(parts.get('date') ?? null);
  const zoneOf = compileTimeZone(parts.get('timezone'), compile);
  const given = parts.get('format');
  const format = given === undefined ? undefined : compile(given);
  const onNull = compile(parts.get('onNull') ?? null);
  return (variables) => {
    const value = date(variables);
    const zone = zoneOf(variables);
    const pattern = format === undefined ? defaultFormat(parts.has('timezone')) : format(variables);
    if (isNullish(value)) return onNull(variables);
    if (zone === null || isNullish(pattern)) return null;
    if (typeof pattern !== 'string')
      throw located(18533, `$dateToString requires that 'format' be a string, found: ${typeName(pattern)} with value`);
    return formatted(Number(dateOf(value).ms), zone, pattern);
  };
}

/** With a zone of its own a date is shown without the Z of UTC. */
function defaultFormat(zoned: boolean): string {
  return zoned ? '%Y-%m-%dT%H:%M:%S.%L' : '%Y-%m-%dT%H:%M:%S.%LZ';
}

function formatted(ms: number, zone: TimeZone, pattern: string): string {
  const date = wallClock(ms, zone);
  const offsetMinutes = zone.offsetMs(ms) / 60_000;
  const digits = (value: number, width: number): string => String(value).padStart(width, '0');
  const parts: Record<string, () => string> = {
    Y: () => digits(date.getUTCFullYear(), 4),
    m: () => digits(date.getUTCMonth() + 1, 2),
    d: () => digits(date.getUTCDate(), 2),
    H: () => digits(date.getUTCHours(), 2),
    M: () => digits(date.getUTCMinutes(), 2),
    S: () => digits(date.getUTCSeconds(), 2),
    L: () => digits(date.getUTCMilliseconds(), 3),
    j: () => digits(dayOfYear(date), 3),
    w: () => String(date.getUTCDay() + 1),
    U: () => digits(weekOfYear(date), 2),
    u: () => String(isoDayOfWeek(date)),
    V: () => digits(isoWeek(date).week, 2),
    G: () => digits(isoWeek(date).year, 4),
    z: () =>
      `${offsetMinutes < 0 ? '-' : '+'}${digits(Math.floor(Math.abs(offsetMinutes) / 60), 2)}${digits(Math.abs(offsetMinutes) % 60, 2)}`,
    Z: () => String(offsetMinutes),
    '%': () => '%',
  };
  return pattern.replace(/%(.)/g, (_whole, letter: string) => {
    const text = parts[letter];
    if (text === undefined) throw located(18536, `Invalid format character '%${letter}' in format string`);
    return text();
  });
}

function compileDateFromString(operand: Value, compile: Compile): Evaluate {
  const parts = namedArguments(
    operand,
    '$dateFromString',
    ['dateString', 'format', 'timezone', 'onError', 'onNull'],
    ['dateString'],
  );
  const text = compile(parts.get('dateString') ?? null);
  const format = compile(parts.get('format') ?? null);
  const zoneOf = compileTimeZone(parts.get('timezone'), compile);
  const onError = parts.get('onError');
  const otherwise = onError === undefined ? undefined : compile(onError);
  const onNull = compile(parts.get('onNull') ?? null);
  return (variables) => {
    const value = text(variables);
    if (isNullish(value)) return onNull(variables);
    const zone = zoneOf(variables);
    const pattern = format(variables);
    if (zone === null) return null;
    try {
      if (typeof value !== 'string')
        throw conversionFailure(
          `$dateFromString requires that 'dateString' be a string, found: ${typeName(value)} with value`,
        );
      return dateFromText(value, zone, typeof pattern === 'string' ? pattern : undefined);
    } catch (error) {
      if (otherwise === undefined || !(error instanceof CommandError) || error.code !== CONVERSION_FAILURE) throw error;
      return otherwise(variables);
    }
  };
}

const CONVERSION_FAILURE = 241;

function conversionFailure(message: string): CommandError {
  return new CommandError(CONVERSION_FAILURE, 'ConversionFailure', message);
}

const ISO =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?)?\s*(Z|UTC|GMT|[+-]\d{2}:?\d{0,2})?$/;

/**
 * A date from its text.
 * @param format as `$dateToString` has it; ISO 8601 without one
 * @throws CommandError 241 for a text that is no date
 */
export function dateFromText(text: string, zone: TimeZone, format: string | undefined): DateTime {
  const fields = format === undefined ? isoFields(text) : formatFields(text, format);
  if (fields === undefined) throw unreadable(text);
  const { year, month, day, hour, minute, second, millisecond, offset } = fields;
  const wall = Date.UTC(year, month - 1, day, hour, minute, second, millisecond);
  const inRange = month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour < 24 && minute < 60 && second < 61;
  if (Number.isNaN(wall) || !inRange) throw unreadable(text);
  if (new Date(wall).getUTCDate() !== day)
    throw conversionFailure(
      `Error parsing date string '${text}'; ${text.length + 1}: The parsed date was invalid '\0'`,
    );
  return new DateTime(BigInt(momentOf(wall, offset ?? zone)));
}

/** Only one letter is known to be no date; other texts have further forms and messages. */
function unreadable(text: string): CommandError {
  if (!/^[A-Za-z]$/.test(text)) return unsimulated(`the date '${text}'`);
  return conversionFailure(`an incomplete date/time string has been found, with elements missing: "${text}"`);
}

interface DateFields {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  millisecond: number;
  offset: TimeZone | undefined;
}

function isoFields(text: string): DateFields | undefined {
  const found = ISO.exec(text.trim());
  if (found === null) return undefined;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '0', offset] = found;
  return {
    year: Number(year),
    month: Number(month),
    day: Number(day),
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second),
    millisecond: Number(fraction.padEnd(3, '0').slice(0, 3)),
    offset: offset === undefined ? undefined : timeZone(offset),
  };
}

const fieldPatterns: Readonly<Record<string, readonly [field: string, pattern: string]>> = {
  Y: ['year', '\\d{4}'],
  m: ['month', '\\d{1,2}'],
  d: ['day', '\\d{1,2}'],
  H: ['hour', '\\d{1,2}'],
  M: ['minute', '\\d{1,2}'],
  S: ['second', '\\d{1,2}'],
  L: ['millisecond', '\\d{1,3}'],
  z: ['offset', 'Z|UTC|GMT|[+-]\\d{2}:?\\d{2}'],
};

function formatFields(text: string, format: string): DateFields | undefined {
  const source = format.replace(/%(.)|[^%]/g, (literal, letter?: string) => {
    if (letter === undefined) return literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    if (letter === '%') return '%';
    const field = fieldPatterns[letter];
    if (field === undefined) throw located(18536, `Invalid format character '%${letter}' in format string`);
    return `(?<${field[0]}>${field[1]})`;
  });
  const groups = new RegExp(`^${source}$`).exec(text)?.groups;
  if (groups?.['year'] === undefined) return undefined;
  const number = (name: string, missing: number): number => Number(groups[name] ?? missing);
  const offset = groups['offset'];
  return {
    year: number('year', 0),
    month: number('month', 1),
    day: number('day', 1),
    hour: number('hour', 0),
    minute: number('minute', 0),
    second: number('second', 0),
    millisecond: number('millisecond', 0),
    offset: offset === undefined ? undefined : timeZone(offset),
  };
}
