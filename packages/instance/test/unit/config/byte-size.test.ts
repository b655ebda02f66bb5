import { expect, test } from 'vitest';
import { bytesOf, byteSizeSchema } from '../../../src/config/byte-size.js';

test('sizes are numbers with units of 1024', () => {
  expect(['0', '512', '1kb', '128MB', '1 GiB', '64B'].map(bytesOf)).toEqual([0, 512, 1024, 128 * 2 ** 20, 2 ** 30, 64]);
  for (const wrong of ['', 'MB', '-1', '1.5MB', '1TBB', '1 X', 'x1MB']) expect(bytesOf(wrong)).toBeUndefined();
});

test('sizes have bounds', () => {
  const schema = byteSizeSchema(10, 100);
  expect([10, '100', '64B'].map((size) => schema.parse(size))).toEqual([10, 100, 64]);
  for (const wrong of [9, 101, 10.5, NaN, '1KB', true, 'x']) expect(schema.safeParse(wrong).success).toBe(false);
});
