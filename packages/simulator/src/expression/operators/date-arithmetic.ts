import { Int32, Long } from 'bson';
import { isNumber, toNumber } from '../../bson/exact-number.js';
import { typeName } from '../../bson/type-of.js';
import { DateTime, type Doc, type Value } from '../../bson/value.js';
import { unsimulated } from '../../node/unsimulated.js';
import { located } from '../../query/query-error.js';
import { DAY_MS, isoDayOfWeek, isoWeek, plusMonths } from '../calendar.js';
import { type Compile, type Evaluate, namedArguments, type OperatorTable } from '../operator.js';
import { isNullish } from '../truth.js';
import type { Variables } from '../variables.js';
import { dateOf, isDate } from './date.js';

/** Builds, splits, shifts and compares dates. */
export const dateArithmeticOperators: OperatorTable = {
  $dateAdd: (operand, compile, name) => compileShift(operand, compile, name, 1),
  $dateSubtract: (operand, compile, name) => compileShift(operand, compile, name, -1),
  $dateDiff: compileDiff,
  $dateTrunc: compileTrunc,
  $dateFromParts: compileFromParts,
  $dateToParts: compileToParts,
};

/** Units of a fixed length, in milliseconds. */
const fixedUnits: ReadonlyMap<string, number> = new Map([
  ['millisecond', 1],
  ['second', 1000],
  ['minute', 60_000],
  ['hour', 3_600_000],
]);
/** Units by the calendar, in months or days. */
const monthUnits: ReadonlyMap<string, number> = new Map([
  ['month', 1],
  ['quarter', 3],
  ['year', 12],
]);
const dayUnits: ReadonlyMap<string, number> = new Map([
  ['day', 1],
  ['week', 7],
]);
/** Weeks begin on Sundays. */
const FIRST_DAY = 7;
/** Bins of `$dateTrunc` are counted from the year 2000. */
const REFERENCE_YEAR = 2000;

function compileShift(operand: Value, compile: Compile, name: string, sign: number): Evaluate {
  const required = ['startDate', 'unit', 'amount'];
  const parts = namedArguments(operand, name, required, required, ['timezone']);
  const [start, unit, amount] = required.map((part) => compile(parts.get(part) ?? null)) as [
    Evaluate,
    Evaluate,
    Evaluate,
  ];
  return (variables) => {
    const [from, by] = [start(variables), amount(variables)];
    const named = unitOf(unit(variables), name);
    if (isNullish(from) || isNullish(by) || named === null) return null;
    if (!isNumber(by) || !Number.isInteger(toNumber(by)))
      throw located(5166405, `${name} expects integer amount of time units`);
    if (!isDate(from)) throw located(5166403, `${name} requires startDate to be convertible to a date`);
    const { ms } = dateOf(from);
    if (ms < 0n && ms % 1000n !== 0n) throw unsimulated(`${name} of a part of a second before 1970`);
    return new DateTime(BigInt(shifted(Number(ms), named, toNumber(by) * sign)));
  };
}

function shifted(ms: number, unit: string, amount: number): number {
  const fixed = fixedUnits.get(unit);
  if (fixed !== undefined) return ms + fixed * amount;
  const months = monthUnits.get(unit);
  return months === undefined
    ? ms + amount * (dayUnits.get(unit) ?? 1) * DAY_MS
    : plusMonths(new Date(ms), months * amount).getTime();
}

function unitOf(unit: Value | undefined, name: string): string | null {
  if (isNullish(unit)) return null;
  if (typeof unit !== 'string')
    throw located(5439013, `${name} requires 'unit' to be a string, but got ${typeName(unit)}`);
  if (fixedUnits.has(unit) || monthUnits.has(unit) || dayUnits.has(unit)) return unit;
  throw located(5439014, `${name} parameter 'unit' value cannot be recognized as a time unit: ${unit}`);
}

function compileDiff(operand: Value, compile: Compile, name: string): Evaluate {
  const required = ['startDate', 'endDate', 'unit'];
  const parts = namedArguments(operand, name, required, required, ['timezone', 'startOfWeek']);
  const [start, end, unit] = required.map((part) => compile(parts.get(part) ?? null)) as [Evaluate, Evaluate, Evaluate];
  return (variables) => {
    const [from, to, named] = [start(variables), end(variables), unitOf(unit(variables), name)];
    if (isNullish(from) || isNullish(to) || named === null) return null;
    for (const [part, value] of [
      ['startDate', from],
      ['endDate', to],
    ] as const) {
      if (!isDate(value)) throw located(5166307, `${name} requires '${part}' to be a date, but got ${typeName(value)}`);
    }
    const count = (value: Value): number => boundariesBefore(new Date(Number(dateOf(value).ms)), named);
    return Long.fromNumber(count(to) - count(from));
  };
}

/** How many times a unit has started up to a moment, counted from any fixed one. */
function boundariesBefore(wall: Date, unit: string): number {
  const fixed = fixedUnits.get(unit);
  if (fixed !== undefined) return Math.floor(wall.getTime() / fixed);
  const months = monthUnits.get(unit);
  if (months !== undefined) return Math.floor((wall.getUTCFullYear() * 12 + wall.getUTCMonth()) / months);
  const days = Math.floor(wall.getTime() / DAY_MS);
  return unit === 'day' ? days : Math.floor((days - ((isoDayOfWeek(wall) - FIRST_DAY + 7) % 7)) / 7);
}

function compileTrunc(operand: Value, compile: Compile, name: string): Evaluate {
  const known = ['date', 'unit', 'binSize'];
  const parts = namedArguments(operand, name, known, ['date', 'unit'], ['timezone', 'startOfWeek']);
  const [date, unit, bin] = known.map((part) => compile(parts.get(part) ?? null)) as [Evaluate, Evaluate, Evaluate];
  return (variables) => {
    const [value, named] = [date(variables), unitOf(unit(variables), name)];
    const size = parts.has('binSize') ? bin(variables) : new Int32(1);
    if (isNullish(value) || named === null || isNullish(size)) return null;
    if (!isNumber(size) || !Number.isInteger(toNumber(size)) || toNumber(size) < 1)
      throw located(5439018, "$dateTrunc requires 'binSize' to be a positive 64-bit integer");
    if (!isDate(value)) throw located(5439012, `${name} requires 'date' to be a date, but got ${typeName(value)}`);
    return new DateTime(BigInt(truncated(new Date(Number(dateOf(value).ms)), named, toNumber(size))));
  };
}

function truncated(wall: Date, unit: string, size: number): number {
  const reference = Date.UTC(REFERENCE_YEAR, 0, 1);
  const months = monthUnits.get(unit);
  if (months !== undefined) {
    const passed = (wall.getUTCFullYear() - REFERENCE_YEAR) * 12 + wall.getUTCMonth();
    return Date.UTC(REFERENCE_YEAR, Math.floor(passed / (months * size)) * months * size, 1);
  }
  const step = (fixedUnits.get(unit) ?? (dayUnits.get(unit) ?? 1) * DAY_MS) * size;
  const start =
    unit === 'week' ? reference + ((FIRST_DAY - isoDayOfWeek(new Date(reference)) + 7) % 7) * DAY_MS : reference;
  return start + Math.floor((wall.getTime() - start) / step) * step;
}

function compileFromParts(operand: Value, compile: Compile, name: string): Evaluate {
  const refused = ['timezone', 'isoWeekYear', 'isoWeek', 'isoDayOfWeek', 'hour', 'minute', 'second', 'millisecond'];
  const parts = namedArguments(operand, name, ['year', 'month', 'day'], [], refused);
  if (!parts.has('year')) throw located(40516, "$dateFromParts requires either 'year' or 'isoWeekYear' to be present");
  const evaluators = new Map([...parts].map(([part, expression]) => [part, compile(expression)]));
  return (variables) => {
    const values = partValues(evaluators, variables);
    if (values === null) return null;
    const part = (named: string, missing: number): number => values.get(named) ?? missing;
    return new DateTime(BigInt(Date.UTC(part('year', 1970), part('month', 1) - 1, part('day', 1))));
  };
}

function partValues(evaluators: ReadonlyMap<string, Evaluate>, variables: Variables): Map<string, number> | null {
  const values = new Map<string, number>();
  for (const [part, evaluate] of evaluators) {
    const value = evaluate(variables);
    if (isNullish(value)) return null;
    if (!isNumber(value) || !Number.isInteger(toNumber(value)))
      throw located(40515, `'${part}' must evaluate to an integer, found ${typeName(value)} with value`);
    values.set(part, toNumber(value));
  }
  return values;
}

function compileToParts(operand: Value, compile: Compile, name: string): Evaluate {
  const parts = namedArguments(operand, name, ['date', 'iso8601'], ['date'], ['timezone']);
  const date = compile(parts.get('date') ?? null);
  const isoFlag = compile(parts.get('iso8601') ?? false);
  return (variables) => {
    const value = date(variables);
    const iso = isoFlag(variables);
    if (isNullish(value) || isNullish(iso)) return null;
    if (typeof iso !== 'boolean') throw located(40521, `iso8601 must evaluate to a bool, found ${typeName(iso)}`);
    const wall = new Date(Number(dateOf(value).ms));
    const { year, week } = isoWeek(wall);
    const days: [string, number][] = iso
      ? [
          ['isoWeekYear', year],
          ['isoWeek', week],
          ['isoDayOfWeek', isoDayOfWeek(wall)],
        ]
      : [
          ['year', wall.getUTCFullYear()],
          ['month', wall.getUTCMonth() + 1],
          ['day', wall.getUTCDate()],
        ];
    const times: [string, number][] = [
      ['hour', wall.getUTCHours()],
      ['minute', wall.getUTCMinutes()],
      ['second', wall.getUTCSeconds()],
      ['millisecond', wall.getUTCMilliseconds()],
    ];
    const result: Doc = new Map([...days, ...times].map(([part, number]) => [part, new Int32(number)]));
    return result;
  };
}
