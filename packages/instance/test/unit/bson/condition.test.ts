import { BSONRegExp, Code } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { isCondition, isKeyBound } from '../../../src/bson/condition.js';
import { encodeValue } from '../../../src/bson/scan.js';

const conditions: unknown[] = [
  new BSONRegExp('^a', ''),
  new BSONRegExp('(', ''),
  { $gt: 'a' },
  { $x: 1 },
  { $id: 1 },
  { $ref: 'x' },
  { $db: 'x' },
  { $ref: 'x', $db: 'y' },
];
const hidden: unknown[] = [
  { a: 1, $gt: 1 },
  { a: { $gt: 1 } },
  { a: [{ $gt: 1 }] },
  { a: new Code('x', { $gt: 1 }) },
  { $id: 1, $ref: 'x' },
  { $ref: 1, $id: 1 },
  { $ref: 'x', $id: 1, $x: 1 },
  { $ref: 'x', $id: 1, $db: 1 },
  { $ref: 'x', $id: 1, $db: 'y', $x: 1 },
];
const plain: unknown[] = [
  {},
  { a: 1 },
  { a: new BSONRegExp('a', '') },
  { '': 1 },
  { $ref: 'x', $id: 1 },
  { $ref: 'x', $id: { $gt: 1 }, $db: 'y', a: 1 },
  '$gt',
  null,
  new Code('x', { $gt: 1 }),
];

describe('a value', () => {
  it.each(conditions)('would be a condition, and bounds no zone: %j', (value) => {
    expect([isCondition(encodeValue(value)), isKeyBound(encodeValue(value))]).toEqual([true, false]);
  });

  it.each(hidden)('means itself in a query, but bounds no zone: %j', (value) => {
    expect([isCondition(encodeValue(value)), isKeyBound(encodeValue(value))]).toEqual([false, false]);
  });

  it.each(plain)('means itself, and bounds zones: %j', (value) => {
    expect([isCondition(encodeValue(value)), isKeyBound(encodeValue(value))]).toEqual([false, true]);
  });
});
