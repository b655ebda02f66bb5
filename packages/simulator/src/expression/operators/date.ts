import { Int32, Long, ObjectId, Timestamp } from 'bson';
import { typeName } from '../../bson/type-of.js';
import { DateTime, type Value } from '../../bson/value.js';
import { located } from '../../query/query-error.js';
import { type Compile, type Evaluate, namedArguments, type OperatorCompiler, type OperatorTable } from '../operator.js';
import { isNullish } from '../truth.js';

const DAY_MS = 86_400_000;

/** Parts of dates in UTC; other time zones are refused. */
export const dateOperators: OperatorTable = {
  $year: datePart((date) => date.getUTCFullYear()),
  $month: datePart((date) => date.getUTCMonth() + 1),
  $dayOfMonth: datePart((date) => date.getUTCDate()),
  $dayOfWeek: datePart((date) => date.getUTCDay() + 1),
  $dayOfYear: datePart((date) => Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / DAY_MS) + 1),
  $hour: datePart((date) => date.getUTCHours()),
  $minute: datePart((date) => date.getUTCMinutes()),
  $second: datePart((date) => date.getUTCSeconds()),
  $millisecond: datePart((date) => date.getUTCMilliseconds()),
  $dateToString: compileDateToString,
  $tsSecond: timestampPart((time) => time.t),
  $tsIncrement: timestampPart((time) => time.i),
};

/** A date as `2020-01-01T00:00:00.000Z`. */
export function isoText(date: DateTime): string {
  return new Date(Number(date.ms)).toISOString();
}

/**
 * A date from a date, timestamp or object id.
 * @throws CommandError 16006 for other types
 */
export function dateOf(value: Value): DateTime {
  if (value instanceof DateTime) return value;
  if (value instanceof Timestamp) return new DateTime(BigInt(value.t) * 1000n);
  if (value instanceof ObjectId) return new DateTime(BigInt(value.getTimestamp().getTime()));
  throw located(16006, `can't convert from BSON type ${typeName(value)} to Date`);
}

function datePart(part: (date: Date) => number): OperatorCompiler {
  return (operand, compile, name) => {
    const isLong = operand instanceof Map && operand.has('date');
    if (isLong) checkZone(namedArguments(operand, name, ['date', 'timezone'], ['date']).get('timezone'));
    const single = Array.isArray(operand) && operand.length === 1 ? (operand[0] ?? null) : operand;
    const evaluate = compile(isLong ? (operand.get('date') ?? null) : single);
    return (variables) => {
      const value = evaluate(variables);
      return isNullish(value) ? null : new Int32(part(new Date(Number(dateOf(value).ms))));
    };
  };
}

function timestampPart(part: (time: Timestamp) => number): OperatorCompiler {
  return (operand, compile) => {
    const evaluate = compile(operand);
    return (variables) => {
      const value = evaluate(variables);
      return value instanceof Timestamp ? Long.fromNumber(part(value)) : null;
    };
  };
}

function checkZone(zone: Value | undefined): void {
  if (zone === undefined || zone === null || zone === 'UTC' || zone === 'GMT' || zone === '+00:00' || zone === 'Z') return;
  throw located(40485, `unrecognized time zone identifier: "${typeof zone === 'string' ? zone : ''}"`);
}

const DEFAULT_FORMAT = '%Y-%m-%dT%H:%M:%S.%LZ';

function compileDateToString(operand: Value, compile: Compile): Evaluate {
  const parts = namedArguments(operand, '$dateToString', ['date', 'format', 'timezone', 'onNull'], ['date']);
  checkZone(parts.get('timezone'));
  const date = compile(parts.get('date') ?? null);
  const format = compile(parts.get('format') ?? DEFAULT_FORMAT);
  const onNull = compile(parts.get('onNull') ?? null);
  return (variables) => {
    const value = date(variables);
    const pattern = format(variables);
    if (isNullish(value)) return onNull(variables);
    return typeof pattern === 'string' ? formatted(new Date(Number(dateOf(value).ms)), pattern) : null;
  };
}

function formatted(date: Date, pattern: string): string {
  const digits = (value: number, width: number): string => String(value).padStart(width, '0');
  const parts: Record<string, string> = {
    Y: digits(date.getUTCFullYear(), 4),
    m: digits(date.getUTCMonth() + 1, 2),
    d: digits(date.getUTCDate(), 2),
    H: digits(date.getUTCHours(), 2),
    M: digits(date.getUTCMinutes(), 2),
    S: digits(date.getUTCSeconds(), 2),
    L: digits(date.getUTCMilliseconds(), 3),
    z: '+0000',
    Z: '0',
    '%': '%',
  };
  return pattern.replace(/%(.)/g, (_whole, letter: string) => {
    const text = parts[letter];
    if (text === undefined) throw located(18536, `Invalid format character '%${letter}' in format string`);
    return text;
  });
}
