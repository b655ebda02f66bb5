import { expect, test } from 'vitest';
import { bothNames } from '../../../src/contract/namespace-remap.js';
import { optionsDigest } from '../../../src/contract/options-digest.js';
import { parseStartRequest } from '../../../src/contract/parse-start-request.js';

const parsed = (namespaceRemap: unknown) =>
  parseStartRequest({ source: 'cluster0', destination: 'cluster1', namespaceRemap });
const whole = (from: string, to: string) => ({ from: { database: from }, to: { database: to } });

test('its elements have no order', () => {
  const [a, b] = [
    whole('a', 'b'),
    { from: { database: 'c', collection: 'd' }, to: { database: 'e', collection: 'f' } },
  ];
  expect(optionsDigest(parsed([a, b]))).toBe(optionsDigest(parsed([b, a])));
  expect(optionsDigest(parsed([a]))).not.toBe(optionsDigest(parsed([b])));
});

test('source and destination may differ in every character that the source allows', () => {
  expect(parsed([whole('a|b', 'b')]).namespaceRemap).toEqual([whole('a|b', 'b')]);
});

test.each<[string, unknown, RegExp]>([
  ['nothing', [], /at least one/],
  ['a source twice', [whole('a', 'b'), whole('a', 'c')], /names a a second time/],
  ['a destination twice', [whole('a', 'c'), whole('b', 'c')], /names c a second time/],
  [
    'a collection for a database',
    [{ from: { database: 'a' }, to: { database: 'b', collection: 'c' } }],
    /to a database/,
  ],
  ['a name of 64 bytes', [whole('a', 'ä'.repeat(32))], /63 bytes/],
  ['a character that Windows refuses', [whole('a', 'b?')], /every platform/],
  [
    'a collection of the server',
    [{ from: { database: 'a', collection: 'b' }, to: { database: 'a', collection: 'system.views' } }],
    /users can give/,
  ],
  ['an empty name', [whole('', 'b')], /empty/],
])('refuses %s', (_what, elements, says) => {
  expect(() => parsed(elements)).toThrow(says);
});

test('both names are one text', () => {
  expect([bothNames('a.b', 'c.d'), bothNames('a.b', 'a.b'), bothNames('a.b')]).toEqual(['a.b → c.d', 'a.b', 'a.b']);
});
