import { BSON, Double, Int32, Decimal128, Long } from 'mongodb';
import { expect, test, describe } from 'vitest';
import { DocumentBuilder } from '../../../../src/bson/build.js';
import {
  compareGroup,
  digestOf,
  documentDigest,
  joinedDigest,
  differencesMax,
  differingPaths,
} from '../../../../src/verify/compare/compare-documents.js';

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

const paths = (source: object, destination: object) => differingPaths(bytes(source), bytes(destination));

/** A NaN with a payload: the driver would write the usual NaN. */
function withNaN(payload: number): Uint8Array {
  const document = Buffer.from(BSON.serialize({ v: new Double(1) }));
  document.writeBigUInt64LE(0x7ff8000000000000n + BigInt(payload), 7);
  return document;
}

describe('differingPaths', () => {
  test.each<[string, object, object, unknown[]]>([
    [
      'a value',
      { a: 1, b: 2 },
      { a: 1, b: 3 },
      [{ path: 'b', kind: 'changed', sourceType: 'int', destinationType: 'int' }],
    ],
    [
      'a type alone',
      { a: new Int32(1) },
      { a: Long.fromNumber(1) },
      [{ path: 'a', kind: 'changed', sourceType: 'int', destinationType: 'long' }],
    ],
    [
      'the scale of a decimal',
      { a: Decimal128.fromString('1.0') },
      { a: Decimal128.fromString('1.00') },
      [{ path: 'a', kind: 'changed', sourceType: 'decimal', destinationType: 'decimal' }],
    ],
    [
      'negative zero',
      { a: new Double(0) },
      { a: new Double(-0) },
      [{ path: 'a', kind: 'changed', sourceType: 'double', destinationType: 'double' }],
    ],
    ['a missing field', { a: 1, b: 2 }, { a: 1 }, [{ path: 'b', kind: 'missingOnDestination', sourceType: 'int' }]],
    [
      'an extra field',
      { a: 1 },
      { a: 1, b: null },
      [{ path: 'b', kind: 'extraOnDestination', destinationType: 'null' }],
    ],
    ['the order of fields', { a: 1, b: 2 }, { b: 2, a: 1 }, [{ path: '', kind: 'order' }]],
    ['an order inside', { x: { a: 1, b: 2 } }, { x: { b: 2, a: 1 } }, [{ path: 'x', kind: 'order' }]],
    [
      'an element of an array',
      { x: [1, { y: 2 }] },
      { x: [1, { y: '2' }] },
      [{ path: 'x.1.y', kind: 'changed', sourceType: 'int', destinationType: 'string' }],
    ],
    ['a shorter array', { x: [1, 2] }, { x: [1] }, [{ path: 'x.1', kind: 'missingOnDestination', sourceType: 'int' }]],
    [
      'a document for an array',
      { x: [1] },
      { x: { 0: 1 } },
      [{ path: 'x', kind: 'changed', sourceType: 'array', destinationType: 'object' }],
    ],
    [
      'names with dots',
      { 'a.b': { '': 1 } },
      { 'a.b': { '': 2 } },
      [{ path: '"a.b".""', kind: 'changed', sourceType: 'int', destinationType: 'int' }],
    ],
  ])('finds %s', (_what, source, destination, expected) => {
    expect(paths(source, destination)).toEqual(expected);
  });

  test('finds the payload of a NaN', () => {
    expect(differingPaths(withNaN(0), withNaN(1))).toEqual([
      { path: 'v', kind: 'changed', sourceType: 'double', destinationType: 'double' },
    ]);
  });

  test('distinguishes names that are not UTF-8', () => {
    const named = (name: string, value: number) => new DocumentBuilder().int32(name, value).finish();
    expect(differingPaths(named('a\udcff', 1), named('a\udcfe', 1))).toEqual([
      { path: '"a\\udcff"', kind: 'missingOnDestination', sourceType: 'int' },
      { path: '"a\\udcfe"', kind: 'extraOnDestination', destinationType: 'int' },
    ]);
  });

  test('finds a repeated name that one side has only once', () => {
    const twice = BSON.serialize({ a: 1, b: 1 });
    twice[twice.indexOf(0x62)] = 0x61;
    expect(differingPaths(twice, bytes({ a: 1 }))).toEqual([
      { path: 'a', kind: 'missingOnDestination', sourceType: 'int' },
    ]);
  });

  test('reports no more than a person reads', () => {
    const many = (value: number) => Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}`, value]));
    expect(paths(many(1), many(2))).toHaveLength(differencesMax);
  });
});
