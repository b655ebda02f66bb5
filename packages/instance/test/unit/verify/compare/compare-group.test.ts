import { BSON, Double, Int32 } from 'mongodb';
import { expect, test } from 'vitest';
import { compareGroup, digestOf, documentDigest, joinedDigest } from '../../../../src/verify/compare/compare-group.js';

const bytes = (document: object): Uint8Array => BSON.serialize(document);
const kinds = (source: object[], destination: object[]) =>
  compareGroup(source.map(bytes), destination.map(bytes)).map(({ kind, source: here, destination: there }) => [
    kind,
    here && BSON.deserialize(here),
    there && BSON.deserialize(there),
  ]);

test.each<[string, object[], object[], unknown[]]>([
  ['equal documents', [{ _id: 1, a: 1 }], [{ _id: 1, a: 1 }], []],
  [
    'equal documents of several shards in another order',
    [
      { _id: 1, a: 1 },
      { _id: 1, a: 2 },
    ],
    [
      { _id: 1, a: 2 },
      { _id: 1, a: 1 },
    ],
    [],
  ],
  ['a changed document', [{ _id: 1, a: 1 }], [{ _id: 1, a: 2 }], [['different', { _id: 1, a: 1 }, { _id: 1, a: 2 }]]],
  [
    'a missing one of two',
    [
      { _id: 1, a: 1 },
      { _id: 1, a: 2 },
    ],
    [{ _id: 1, a: 2 }],
    [['missingOnDestination', { _id: 1, a: 1 }, null]],
  ],
  ['an extra one', [], [{ _id: 1 }], [['extraOnDestination', null, { _id: 1 }]]],
])('compares %s', (_what, source, destination, expected) => {
  expect(kinds(source, destination)).toEqual(expected);
});

test('documents whose _ids have the same bytes are paired before those of equal value', () => {
  const source = [
    { _id: new Int32(1), a: 1 },
    { _id: new Double(1), a: 1 },
  ].map(bytes);
  const destination = [
    { _id: new Double(1), a: 2 },
    { _id: new Int32(1), a: 2 },
  ].map(bytes);
  const pairs = compareGroup(source, destination);
  expect(pairs.map(({ kind }) => kind)).toEqual(['different', 'different']);
  expect(pairs.map((pair) => [pair.source?.[4], pair.destination?.[4]])).toEqual([
    [0x10, 0x10],
    [0x01, 0x01],
  ]);
});

test('a digest does not depend on the order, and distinguishes documents', () => {
  const [a, b] = [bytes({ _id: 1, a: 1 }), bytes({ _id: 1, a: 2 })];
  expect(digestOf([])).toBe('');
  expect(digestOf([a, b])).toBe(digestOf([b, a]));
  expect(digestOf([a, b])).toBe(joinedDigest([documentDigest(b), documentDigest(a)]));
  expect(new Set([digestOf([a]), digestOf([b]), digestOf([a, b]), digestOf([a, a])]).size).toBe(4);
});
