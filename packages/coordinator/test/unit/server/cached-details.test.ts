import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, test } from 'vitest';
import type { DetailTopic, PublishedDetails } from '@convoy/api/fleet/published-details';
import { cached, cachedDetails } from '../../../src/server/cached-details.js';

it('preflight checks are those of instances that have run some', async () => {
  const item = { check: 'cluster roles', result: 'passed', error: null, description: 'Fine.' } as const;
  const shard1: PublishedDetails['preflight'] = { at_ms: 1, canStart: true, items: [item] };
  const preflight = { shard0: { at_ms: 0, canStart: false, items: [] }, shard1 };
  const fleet = {
    async *details<Topic extends DetailTopic>(topic: Topic): AsyncGenerator<[string, PublishedDetails[Topic]]> {
      await Promise.resolve();
      if (topic !== 'preflight') throw new Error('nobody asks for more');
      yield* Object.entries(preflight) as [string, PublishedDetails[Topic]][];
    },
  };
  expect(await cachedDetails(fleet).preflight()).toEqual({ shard1 });
});

/** A read that ends on command. */
function stagedReading() {
  const ends: ((value: number | Error) => void)[] = [];
  const read = () =>
    new Promise<number>((resolve, reject) =>
      ends.push((value) => (typeof value === 'number' ? resolve(value) : reject(value))),
    );
  return { read, ends };
}

test('caches a value for a while, and a slow one for longer', async () => {
  const { read, ends } = stagedReading();
  let now_ms = 0;
  const ask = cached(read, () => now_ms);
  const [first, second] = [ask(), ask()];
  now_ms = 10;
  ends[0]?.(1);
  expect([await first, await second]).toEqual([1, 1]);
  now_ms = 1_500;
  expect(await ask()).toBe(1);
  now_ms = 1_501;
  const third = ask();
  now_ms = 60_000;
  const fourth = ask();
  expect(ends).toHaveLength(2);
  now_ms = 61_501;
  ends[1]?.(2);
  expect([await third, await fourth]).toEqual([2, 2]);
  now_ms = 601_501;
  expect(await ask()).toBe(2);
  now_ms = 601_502;
  void ask();
  expect(ends).toHaveLength(3);
});

test('retries a failed read', async () => {
  const { read, ends } = stagedReading();
  let now_ms = 0;
  const ask = cached(read, () => now_ms);
  const failing = ask();
  ends[0]?.(new Error('lost'));
  await expect(failing).rejects.toThrow('lost');
  await turn();
  now_ms = 1_501;
  const next = ask();
  ends[1]?.(7);
  expect(await next).toBe(7);
});
