import { expect, test } from 'vitest';
import { Pace } from '../../../src/time/pace.js';

const FAST_MS = 5_000;

function paceOf(...beats_ms: number[]): Pace {
  const pace = new Pace(FAST_MS);
  for (const at_ms of beats_ms) pace.beat(at_ms);
  return pace;
}

test('a fast process has the usual limit, and so has one without a sign of life', () => {
  expect(paceOf().limit_ms(0)).toBe(FAST_MS);
  expect(paceOf(0, 1_000, 2_000).limit_ms(3_000)).toBe(FAST_MS);
});

test('a slow process may miss two signs of life too', () => {
  expect(paceOf(0, 4_000).limit_ms(5_000)).toBe(12_000);
  // Redis accepts only whole milliseconds.
  expect(paceOf(0, 4_000.1).limit_ms(5_000)).toBe(12_001);
  // The gap before the current sign counts already.
  expect(paceOf(0).limit_ms(6_000)).toBe(18_000);
  expect(paceOf(0, 20_000).limit_ms(20_000)).toBe(60_000);
  expect(paceOf(0, 59_000).limit_ms(59_000)).toBe(60_000);
});

test('an outage does not count as slowness', () => {
  expect(paceOf(0, 61_000).limit_ms(61_000)).toBe(FAST_MS);
  const pace = paceOf(0);
  pace.pause();
  pace.beat(30_000);
  expect(pace.limit_ms(30_000)).toBe(FAST_MS);
});

test('slowness expires after minutes, and not before', () => {
  const pace = paceOf(0, 10_000);
  for (let at_ms = 11_000; at_ms < 60_000; at_ms += 1_000) pace.beat(at_ms);
  expect(pace.limit_ms(60_000)).toBe(30_000);
  for (let at_ms = 60_000; at_ms < 120_000; at_ms += 1_000) pace.beat(at_ms);
  expect(pace.limit_ms(119_000)).toBe(30_000);
  for (let at_ms = 120_000; at_ms < 130_000; at_ms += 1_000) pace.beat(at_ms);
  expect(pace.limit_ms(129_000)).toBe(FAST_MS);
});

test('the own process, always alive, has a limit too', () => {
  const pace = paceOf(Number.POSITIVE_INFINITY);
  expect(pace.limit_ms(Number.POSITIVE_INFINITY)).toBe(FAST_MS);
});
