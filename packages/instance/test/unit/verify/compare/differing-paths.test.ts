import { BSON, Decimal128, Double, Int32, Long } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { DocumentBuilder } from '../../../../src/bson/build.js';
import { differencesMax, differingPaths } from '../../../../src/verify/compare/differing-paths.js';

const bytes = (document: object): Uint8Array => BSON.serialize(document);
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
