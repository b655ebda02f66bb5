import { expect, test } from 'vitest';
import { bytesOf, byteSizeSchema, connectionStringProblem } from '../../../src/config/instance-schema.js';

test('sizes are numbers with units of 1024', () => {
  expect(['0', '512', '1kb', '128MB', '1 GiB', '64B'].map(bytesOf)).toEqual([0, 512, 1024, 128 * 2 ** 20, 2 ** 30, 64]);
  for (const wrong of ['', 'MB', '-1', '1.5MB', '1TBB', '1 X', 'x1MB']) expect(bytesOf(wrong)).toBeUndefined();
});

test('sizes have bounds', () => {
  const schema = byteSizeSchema(10, 100);
  expect([10, '100', '64B'].map((size) => schema.parse(size))).toEqual([10, 100, 64]);
  for (const wrong of [9, 101, 10.5, NaN, '1KB', true, 'x']) expect(schema.safeParse(wrong).success).toBe(false);
});

test.each([
  ['compressors=snappy', /compressors that Convoy does not have: it has none, zlib, zstd/],
  ['compressors=zstd,lzma', /compressors that Convoy does not have/],
  ['minPoolSize=20&maxPoolSize=10', /a minPoolSize above its maxPoolSize/],
  ['w=majority&maxConnecting=0', /a value of maxConnecting that the MongoDB driver does not accept/],
  ['minPoolSize=abc', /a value of minPoolSize/],
  ['retryReads=false&readPreference=secret', /a value of readPreference/],
  ['nothing=1', /the option nothing, which the MongoDB driver does not know/],
])('a connection string with %s is refused by the name of the option', (options, says) => {
  const problem = connectionStringProblem(`mongodb://user:secret@localhost/?${options}`);
  expect(problem).toMatch(says);
  expect(problem).not.toContain('secret');
});

test.each([
  'compressors=zlib,zstd',
  'minPoolSize=100',
  'minPoolSize=30&maxConnecting=1',
  'minPoolSize=9&maxPoolSize=0',
])('a connection string with %s is accepted', (options) => {
  expect(connectionStringProblem(`mongodb://localhost/?${options}`)).toBe(null);
});
