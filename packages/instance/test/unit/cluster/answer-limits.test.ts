import { expect, it } from 'vitest';
import { AnswerLimits } from '../../../src/cluster/answer-limits.js';

const find = 'find of shop.orders';

/** Limits with a clock that the test sets. */
function limitsAt(): { limits: AnswerLimits; clock: { now_ms: number } } {
  const clock = { now_ms: 0 };
  return { limits: new AnswerLimits(() => clock.now_ms), clock };
}

it('are 20 s, twice as long after each call in vain, and the same again after a while', () => {
  const { limits, clock } = limitsAt();
  expect(limits.limit_ms(find)).toBe(20_000);
  limits.exceeded(find, 20_000);
  // Another call that began at the same time.
  limits.exceeded(find, 20_000);
  expect(limits.limit_ms(find)).toBe(40_000);
  limits.exceeded(find, 40_000);
  expect(limits.limit_ms(find)).toBe(80_000);
  expect(limits.limit_ms('find of shop.others')).toBe(20_000);
  clock.now_ms = 10 * 60_000 + 80_000;
  expect(limits.limit_ms(find)).toBe(20_000);
});

it('allow a command that was slow twice as long, and nothing more for fast ones', () => {
  const { limits } = limitsAt();
  limits.answered(find, 19_000);
  expect(limits.limit_ms(find)).toBe(20_000);
  limits.answered(find, 25_000);
  limits.answered(find, 10);
  expect(limits.limit_ms(find)).toBe(50_000);
});

it('let a server that needs a minute for each answer be cut off twice, and never again', () => {
  const { limits, clock } = limitsAt();
  const [work_ms, calls] = [60_000, 30];
  let cutOff = 0;
  for (let done = 0; done < calls;) {
    const limit_ms = limits.limit_ms(find);
    clock.now_ms += Math.min(limit_ms, work_ms);
    if (limit_ms < work_ms) {
      limits.exceeded(find, limit_ms);
      cutOff += 1;
    } else {
      limits.answered(find, work_ms);
      done += 1;
    }
  }
  expect(cutOff).toBe(2);
});
