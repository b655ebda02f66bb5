import { typeName } from '../../bson/type-of.js';
import { DateTime, type Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { unsimulated } from '../../node/unsimulated.js';
import { located } from '../../query/query-error.js';
import { dayOfYear, isoDayOfWeek, isoWeek, weekOfYear } from '../calendar.js';
import { type Compile, type Evaluate, namedArguments, type OperatorTable } from '../operator.js';
import { isNullish } from '../truth.js';
import { dateOf } from './date.js';

/** Dates to texts and back. */
export const dateTextOperators: OperatorTable = {
  $dateToString: compileDateToString,
  $dateFromString: compileDateFromString,
};

function compileDateToString(operand: Value, compile: Compile): Evaluate {
  const parts = namedArguments(operand, '$dateToString', ['date', 'format'], ['date'], ['timezone', 'onNull']);
  const date = compile(parts.get('date') ?? null);
  const given = parts.get('format');
  const format = given === undefined ? undefined : compile(given);
  return (variables) => {
    const value = date(variables);
    const pattern = format === undefined ? '%Y-%m-%dT%H:%M:%S.%LZ' : format(variables);
    if (isNullish(value) || isNullish(pattern)) return null;
    if (typeof pattern !== 'string')
      throw located(18533, `$dateToString requires that 'format' be a string, found: ${typeName(pattern)} with value`);
    return formatted(new Date(Number(dateOf(value).ms)), pattern);
  };
}

function formatted(date: Date, pattern: string): string {
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
    z: () => '+0000',
    Z: () => '0',
    '%': () => '%',
  };
  return pattern.replace(/%(.)/g, (_whole, letter: string) => {
    const text = parts[letter];
    if (text === undefined) throw located(18536, `Invalid format character '%${letter}' in format string`);
    return text();
  });
}

function compileDateFromString(operand: Value, compile: Compile): Evaluate {
  const refused = ['timezone', 'format', 'onError', 'onNull'];
  const parts = namedArguments(operand, '$dateFromString', ['dateString'], ['dateString'], refused);
  const text = compile(parts.get('dateString') ?? null);
  return (variables) => {
    const value = text(variables);
    if (isNullish(value)) return null;
    if (typeof value === 'string') return dateFromText(value);
    throw conversionFailure(
      `$dateFromString requires that 'dateString' be a string, found: ${typeName(value)} with value`,
    );
  };
}

function conversionFailure(message: string): CommandError {
  return new CommandError(241, 'ConversionFailure', message);
}

const ISO =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?)?\s*(?:Z|UTC|GMT)?$/;

/** A date from its ISO 8601 text, in UTC. @throws CommandError 241 for a text that is no date */
export function dateFromText(text: string): DateTime {
  const found = ISO.exec(text.trim());
  if (found === null) throw unreadable(text);
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found
    .slice(1, 7)
    .map((part: string | undefined) => Number(part ?? 0));
  const millisecond = Number((found[7] ?? '').padEnd(3, '0').slice(0, 3));
  const wall = Date.UTC(year, month - 1, day, hour, minute, second, millisecond);
  const inRange = month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour < 24 && minute < 60 && second < 61;
  if (Number.isNaN(wall) || !inRange) throw unreadable(text);
  if (new Date(wall).getUTCDate() !== day)
    throw conversionFailure(
      `Error parsing date string '${text}'; ${text.length + 1}: The parsed date was invalid '\0'`,
    );
  return new DateTime(BigInt(wall));
}

/** The recorded failure is about a single letter. Other texts have further forms and messages. */
function unreadable(text: string): CommandError {
  if (!/^[A-Za-z]$/.test(text)) return unsimulated(`the date '${text}'`);
  return conversionFailure(`an incomplete date/time string has been found, with elements missing: "${text}"`);
}
