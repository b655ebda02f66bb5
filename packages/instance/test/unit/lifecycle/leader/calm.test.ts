import { expect, it } from 'vitest';
import type { Clock } from '../../../../src/cluster/clock.js';
import { Calm } from '../../../../src/lifecycle/leader/calm.js';

let now_ms = 5_000;
const clock = { monotonic_ms: () => now_ms } as Clock;

it('is calm once what is seen has been the same for long, and no more with the first change', () => {
  const calm = new Calm(clock, 100);
  const looks: [number, string][] = [[0, 'a'], [99, 'a'], [1, 'a'], [50, 'a'], [0, 'b'], [99, 'b'], [1, 'b']];
  const found = looks.map(([later_ms, seen]) => {
    now_ms += later_ms;
    return calm.isCalm(seen);
  });
  expect(found).toEqual([false, false, true, true, false, false, true]);
});
