import type { Value } from '../bson/value.js';
import { located } from '../query/query-error.js';
import type { Compile, Evaluate } from './operator.js';
import { isNullish } from './truth.js';
import type { Variables } from './variables.js';

const MINUTE_MS = 60_000;
const OFFSET = /^([+-])(\d{2}):?(\d{2})?$/;

/** A zone by its distance from UTC, which may change over the year. */
export interface TimeZone {
  offsetMs(utcMs: number): number;
}

const utc: TimeZone = { offsetMs: () => 0 };
const named = new Map<string, TimeZone>();

/**
 * A zone by offset (`+02:00`) or name (`Europe/Berlin`).
 * @throws CommandError 40485 for an unknown name, 40517 for something other than a text
 */
export function timeZone(zone: Value): TimeZone {
  if (typeof zone !== 'string') throw located(40517, `timezone must evaluate to a string, found ${typeof zone}`);
  if (zone === 'UTC' || zone === 'GMT' || zone === 'Z') return utc;
  const offset = OFFSET.exec(zone);
  if (offset !== null) {
    const [, sign, hours = '0', minutes = '0'] = offset;
    const ms = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS * (sign === '-' ? -1 : 1);
    return { offsetMs: () => ms };
  }
  const known = named.get(zone) ?? namedZone(zone);
  named.set(zone, known);
  return known;
}

/** Compiles an operator's `timezone`. The result gives null when the zone evaluates to null or is missing though asked for. */
export function compileTimeZone(
  expression: Value | undefined,
  compile: Compile,
): (variables: Variables) => TimeZone | null {
  if (expression === undefined) return () => utc;
  const evaluate: Evaluate = compile(expression);
  return (variables) => {
    const zone = evaluate(variables);
    return isNullish(zone) ? null : timeZone(zone);
  };
}

/** The zone's wall clock at a moment, as a date whose UTC fields show it. */
export function wallClock(utcMs: number, zone: TimeZone): Date {
  return new Date(utcMs + zone.offsetMs(utcMs));
}

/** The moment of a wall clock's time; a time that does not exist moves on by the gap. */
export function momentOf(wallMs: number, zone: TimeZone): number {
  const guess = wallMs - zone.offsetMs(wallMs);
  return wallMs - zone.offsetMs(guess);
}

function namedZone(name: string): TimeZone {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    throw located(40485, `unrecognized time zone identifier: "${name}"`);
  }
  return {
    offsetMs: (utcMs) => {
      const parts = new Map(format.formatToParts(utcMs).map(({ type, value }) => [type, value]));
      const field = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type));
      const wall = Date.UTC(
        field('year'),
        field('month') - 1,
        field('day'),
        field('hour'),
        field('minute'),
        field('second'),
      );
      return wall - Math.floor(utcMs / 1000) * 1000;
    },
  };
}
