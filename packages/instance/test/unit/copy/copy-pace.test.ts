import { beforeEach, expect, it } from 'vitest';
import type { Clock } from '../../../src/async/clock.js';
import { CopyConcurrency } from '../../../src/copy/copy-pace.js';

let now_ms: number;
const clock: Clock = {
  now_ms: () => now_ms,
  monotonic_ms: () => now_ms,
  random: () => 0,
  sleep: () => Promise.resolve(),
};
beforeEach(() => (now_ms = 0));

/** Acknowledges at a steady rate for a number of one-second windows. */
function copy(concurrency: CopyConcurrency, seconds: number, bytesPerSecond: () => number): void {
  for (let step = 0; step < seconds * 20; step += 1) {
    now_ms += 50;
    concurrency.acknowledged(bytesPerSecond() / 20);
  }
}

it('starts with the limits', () => {
  expect(new CopyConcurrency(clock, { readers: 1, writers: 3 }).present).toEqual({ readers: 1, writers: 3 });
});

it('follows the acknowledged bytes and bounds the calls in flight', async () => {
  const concurrency = new CopyConcurrency(clock, { readers: 4, writers: 4 });
  copy(concurrency, 40, () => 1_000_000 / concurrency.present.writers);
  expect(concurrency.present.writers).toBeLessThanOrEqual(2);
  let inFlight = 0;
  let most = 0;
  const { signal } = new AbortController();
  const call = async () => {
    inFlight += 1;
    most = Math.max(most, inFlight);
    await Promise.resolve();
    inFlight -= 1;
  };
  await Promise.all(Array.from({ length: 8 }, () => concurrency.writes.run(call, signal)));
  expect(most).toBe(concurrency.present.writers);
});

it('ignores pauses', () => {
  const concurrency = new CopyConcurrency(clock, { readers: 4, writers: 4 });
  const seen = new Set<string>();
  for (let pause = 0; pause < 50; pause += 1) {
    copy(concurrency, 0.5, () => 1_000_000);
    now_ms += 10_000;
    seen.add(JSON.stringify(concurrency.present));
  }
  expect([...seen]).toEqual([JSON.stringify({ readers: 4, writers: 4 })]);
});
