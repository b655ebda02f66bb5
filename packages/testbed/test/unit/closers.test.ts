import { expect, test } from 'vitest';
import { Closers } from '@convoy/testbed/closers';

test('closes the last one first, and all despite failures', async () => {
  const closed: string[] = [];
  const closers = new Closers();
  closers.use({ [Symbol.dispose]: () => void closed.push('first') });
  closers.defer(() => Promise.reject(new Error('stuck')));
  closers.use({ [Symbol.asyncDispose]: () => Promise.resolve(void closed.push('last')) });
  await expect(closers[Symbol.asyncDispose]()).rejects.toMatchObject({ errors: [{ message: 'stuck' }] });
  expect(closed).toEqual(['last', 'first']);
});

test('closes everything once', async () => {
  let times = 0;
  const closers = new Closers();
  closers.defer(() => Promise.resolve(void (times += 1)));
  await closers[Symbol.asyncDispose]();
  await closers[Symbol.asyncDispose]();
  expect(times).toBe(1);
});
