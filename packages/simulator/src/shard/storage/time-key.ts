import { Timestamp } from 'bson';

/**
 * A cluster time as one number that compares like the time itself: seconds × 2^21 + increment. 32 bits of seconds and
 * 21 of increment fill the 53 bits that a number holds exactly. Larger increments, which only clients invent, count as
 * the largest.
 */
export type TimeKey = number;

const INCREMENTS_PER_SECOND = 2 ** 21;

/** Reads the current committed state. */
export const LATEST: TimeKey = Number.MAX_SAFE_INTEGER;

/** The time of a running transaction's writes: later than any reader's. */
export const PENDING: TimeKey = Number.POSITIVE_INFINITY;

export function timeKey(time: Timestamp): TimeKey {
  return timeKeyOf(time.t, time.i);
}

/** The two parts of a time's key. */
export function timeKeyOf(seconds: number, increment: number): TimeKey {
  return seconds * INCREMENTS_PER_SECOND + Math.min(increment, INCREMENTS_PER_SECOND - 1);
}

export function secondsToTimeKey(seconds: number): TimeKey {
  return seconds * INCREMENTS_PER_SECOND;
}

export function timestampOf(key: TimeKey): Timestamp {
  const t = Math.floor(key / INCREMENTS_PER_SECOND);
  return new Timestamp({ t, i: key - t * INCREMENTS_PER_SECOND });
}

/** As the server prints a time: `Timestamp(1, 2)`. */
export function timeText(time: Timestamp): string {
  return `Timestamp(${time.t}, ${time.i})`;
}
