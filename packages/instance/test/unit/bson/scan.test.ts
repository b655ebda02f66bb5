import fc from 'fast-check';
import { BSON, Code, DBRef, Decimal128, Long, MaxKey, ObjectId, Timestamp } from 'mongodb';
import { describe, expect, test } from 'vitest';
import {
  decodeValue,
  elementsOf,
  encodeValue,
  findElement,
  findPath,
  findValue,
  ownedValue,
  rawValue,
  readDocument,
  readNumber,
  readString,
  readTimestamp,
  type RawElement,
} from '../../../src/bson/scan.js';
import { bsonValues } from './values.js';

function found(element: RawElement | null): RawElement {
  if (element === null) throw new Error('not found');
  return element;
}

const document = BSON.serialize({
  int: 7,
  long: Long.fromBigInt(2n ** 60n),
  double: 1.5,
  text: 'grün',
  ärger: true,
  time: new Timestamp({ t: 0x9abcdef0, i: 2 }),
  inner: { list: [{ x: 1 }], deep: { x: 'found' } },
  bytes: Buffer.from('abc'),
  id: new ObjectId(),
  code: new Code('f', { a: 1 }),
  regex: /a/i,
  decimal: Decimal128.fromString('1.5'),
  max: new MaxKey(),
  ref: new DBRef('c', new ObjectId()),
  last: null,
});

describe('finding fields', () => {
  test('reads each type', () => {
    expect(readNumber(document, found(findElement(document, 'int')))).toBe(7);
    expect(readNumber(document, found(findElement(document, 'long')))).toBe(2 ** 60);
    expect(readNumber(document, found(findElement(document, 'double')))).toBe(1.5);
    expect(readString(document, found(findElement(document, 'text')))).toBe('grün');
    expect(found(findElement(document, 'ärger')).type).toBe(8);
    expect(readTimestamp(document, found(findElement(document, 'time')))).toBe((0x9abcdef0n << 32n) | 2n);
    expect(found(findElement(document, 'bytes')).type).toBe(5);
    expect(findElement(document, 'last')).not.toBeNull();
  });

  test('finds nothing for names that are missing, longer or shorter', () => {
    for (const name of ['', 'in', 'integer', 'lasts', 'ärgerlich', 'är', 'x'])
      expect(findElement(document, name)).toBeNull();
  });

  test('descends into embedded documents but not into arrays', () => {
    expect(readString(document, found(findPath(document, ['inner', 'deep', 'x'])))).toBe('found');
    expect(findPath(document, ['inner', 'list', '0'])).toBeNull();
    expect(findPath(document, ['int', 'x'])).toBeNull();
  });

  test('returns an embedded document as a view', () => {
    const inner = readDocument(document, found(findElement(document, 'inner')));
    expect(BSON.deserialize(inner)).toEqual({ list: [{ x: 1 }], deep: { x: 'found' } });
    expect(inner.buffer).toBe(document.buffer);
  });

  test('lists all elements in order', () => {
    expect([...elementsOf(document)].map(({ name }) => name)).toEqual(Object.keys(BSON.deserialize(document)));
  });

  test('refuses a value of another type', () => {
    expect(() => readString(document, found(findElement(document, 'int')))).toThrow(TypeError);
    expect(() => readDocument(document, found(findElement(document, 'double')))).toThrow(TypeError);
  });
});

describe('malformed bytes', () => {
  test('are refused, and never read beyond their end', () => {
    fc.assert(
      fc.property(fc.nat({ max: document.length - 2 }), fc.nat({ max: 255 }), (position, byte) => {
        const broken = Uint8Array.from(document.subarray(0, document.length - 1));
        broken[position] = byte;
        try {
          for (const { end } of elementsOf(broken)) expect(end).toBeLessThanOrEqual(broken.length);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
    );
  });
});

describe('values cut out', () => {
  test('are the encoded values, at any position of a document', () => {
    fc.assert(
      fc.property(bsonValues, bsonValues, (first, second) => {
        const bytes = BSON.serialize({ first, second }, { ignoreUndefined: false });
        expect(Buffer.compare(findValue(bytes, 'second')?.bytes ?? bytes, encodeValue(second).bytes)).toBe(0);
      }),
    );
  });

  test('can outlive their document', () => {
    const bytes = BSON.serialize({ a: 'text' });
    const owned = ownedValue(rawValue(bytes, found(findElement(bytes, 'a'))));
    bytes.fill(0);
    expect(decodeValue(owned)).toBe('text');
  });
});
