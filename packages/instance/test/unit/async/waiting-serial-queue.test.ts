import { expect, it } from 'vitest';
import { SerialQueue } from '../../../src/async/waiting.js';

it('runs calls one after the other, also when one fails', async () => {
  const turns = new SerialQueue();
  const done: string[] = [];
  const free: (() => void)[] = [];
  const work = (name: string) =>
    turns.run(async () => {
      done.push(`${name} started`);
      await new Promise<void>((resolve) => free.push(resolve));
      if (name === 'second') throw new Error(name);
      done.push(`${name} ended`);
      return name;
    });
  const all = ['first', 'second', 'third'].map(work);
  const ended = Promise.allSettled(all);
  for (const one of all) {
    await expect.poll(() => free.length).toBe(1);
    free.shift()?.();
    await one.catch(() => undefined);
  }
  expect(done).toEqual(['first started', 'first ended', 'second started', 'third started', 'third ended']);
  expect((await ended).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});
