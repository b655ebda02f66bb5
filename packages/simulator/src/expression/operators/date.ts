import { Int32, Long, ObjectId, Timestamp } from 'bson';
import { typeName } from '../../bson/type-of.js';
import { DateTime, type Value } from '../../bson/value.js';
import { unsimulated } from '../../node/unsimulated.js';
import { located } from '../../query/query-error.js';
import { dayOfYear, isoDayOfWeek, isoWeek, weekOfYear } from '../calendar.js';
import { type OperatorCompiler, type OperatorTable } from '../operator.js';
import { isNullish } from '../truth.js';

/** Parts of dates and timestamps. */
export const dateOperators: OperatorTable = {
  $year: datePart((date) => date.getUTCFullYear()),
  $month: datePart((date) => date.getUTCMonth() + 1),
  $dayOfMonth: datePart((date) => date.getUTCDate()),
  $dayOfWeek: datePart((date) => date.getUTCDay() + 1),
  $dayOfYear: datePart(dayOfYear),
  $hour: datePart((date) => date.getUTCHours()),
  $minute: datePart((date) => date.getUTCMinutes()),
  $second: datePart((date) => date.getUTCSeconds()),
  $millisecond: datePart((date) => date.getUTCMilliseconds()),
  $week: datePart(weekOfYear),
  $isoDayOfWeek: datePart(isoDayOfWeek),
  $isoWeek: datePart((date) => isoWeek(date).week),
  $isoWeekYear: datePart(
    (date) => isoWeek(date).year,
    (year) => Long.fromNumber(year),
  ),
};

/** A date as `2020-01-01T00:00:00.000Z`. */
export function isoText(date: DateTime): string {
  return new Date(Number(date.ms)).toISOString();
}

/** Whether a value is a date or has one in it. */
export function isDate(value: Value): boolean {
  return value instanceof DateTime || value instanceof Timestamp || value instanceof ObjectId;
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

function datePart(
  part: (date: Date) => number,
  made: (number: number) => Value = (number) => new Int32(number),
): OperatorCompiler {
  return (operand, compile, name) => {
    if (operand instanceof Map && operand.has('date')) throw unsimulated(`${name} of named arguments`);
    const evaluate = compile(Array.isArray(operand) && operand.length === 1 ? (operand[0] ?? null) : operand);
    return (variables) => {
      const value = evaluate(variables);
      return isNullish(value) ? null : made(part(new Date(Number(dateOf(value).ms))));
    };
  };
}
