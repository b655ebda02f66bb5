import { expect, test } from 'vitest';
import { Semaphore } from '../../../src/async/waiting.js';

/** Calls that the test ends. */
class Calls {
  readonly started: number[] = [];
  readonly #ends = new Map<number, () => void>();

  make = (name: number) => (): Promise<number> => {
    this.started.push(name);
    return new Promise((resolve) => this.#ends.set(name, () => resolve(name)));
  };

  end(name: number): void {
    this.#ends.get(name)?.();
  }
}

const { signal } = new AbortController();

test('no more calls than the bound are in flight, and the others run in order', async () => {
  const semaphore = new Semaphore(2);
  const calls = new Calls();
  const all = [1, 2, 3, 4].map((name) => semaphore.run(calls.make(name), signal));
  expect(calls.started).toEqual([1, 2]);
  calls.end(2);
  await all[1];
  await expect.poll(() => calls.started).toEqual([1, 2, 3]);
  calls.end(1);
  calls.end(3);
  await all[2];
  await expect.poll(() => calls.started).toEqual([1, 2, 3, 4]);
  calls.end(4);
  expect(await Promise.all(all)).toEqual([1, 2, 3, 4]);
});

test('a higher bound admits the next calls at once, a lower one waits for calls to end', async () => {
  const semaphore = new Semaphore(1);
  const calls = new Calls();
  const all = [1, 2, 3, 4].map((name) => semaphore.run(calls.make(name), signal));
  semaphore.max = 3;
  await expect.poll(() => calls.started).toEqual([1, 2, 3]);
  semaphore.max = 1;
  for (const name of [1, 2]) calls.end(name);
  await Promise.all(all.slice(0, 2));
  expect(calls.started).toEqual([1, 2, 3]);
  calls.end(3);
  await all[2];
  await expect.poll(() => calls.started).toEqual([1, 2, 3, 4]);
  calls.end(4);
  await all[3];
});

test('a failed call releases its turn', async () => {
  const semaphore = new Semaphore(1);
  await expect(semaphore.run(() => Promise.reject(new Error('lost')), signal)).rejects.toThrow('lost');
  expect(await semaphore.run(() => Promise.resolve('done'), signal)).toBe('done');
});

test('an aborted call takes no turn', async () => {
  const semaphore = new Semaphore(1);
  const calls = new Calls();
  const first = semaphore.run(calls.make(1), signal);
  const stop = new AbortController();
  const second = semaphore.run(calls.make(2), stop.signal);
  const third = semaphore.run(calls.make(3), signal);
  stop.abort(new Error('stopped'));
  await expect(second).rejects.toThrow('stopped');
  calls.end(1);
  await first;
  await expect.poll(() => calls.started).toEqual([1, 3]);
  calls.end(3);
  await third;
  await expect(semaphore.run(calls.make(4), stop.signal)).rejects.toThrow('stopped');
});
