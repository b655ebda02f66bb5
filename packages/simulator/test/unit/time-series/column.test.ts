import { Binary, Double, Int32, Long, ObjectId } from 'bson';
import { describe, expect, it } from 'vitest';
import { DateTime, type Value } from '../../../src/bson/value.js';
import { encodeValue } from '../../../src/bson/encode.js';
import { decodeColumn, encodeColumn } from '../../../src/time-series/column.js';

const date = (ms: number): DateTime => new DateTime(BigInt(ms));

describe('columns', () => {
  // Corpus of 8.0.10, 03-crud step 29.
  it.each<[Value[], string]>([
    [
      [new ObjectId('6b0b0762a20666711096c022'), new ObjectId('6b0b0762a20666711096c023')],
      'BwBrCwdiogZmcRCWwCKALgAAAAAAAAAA',
    ],
    [[new Int32(1), new Int32(2)], 'EAABAAAAgC4AAAAAAAAAAA=='],
    [[date(1_700_000_000_000), date(1_700_000_001_000)], 'CQAAaOXPiwEAAIAOfQAAAAAAAAA='],
  ])('have the bytes that a server has written: %#', (values, bytes) => {
    expect(encodeColumn(values).toString('base64')).toBe(bytes);
  });

  it('give back every value and every gap', () => {
    const columns: (Value | undefined)[][] = [
      [],
      [undefined, undefined, new Int32(3), undefined, new Int32(-4), new Int32(2 ** 31 - 1), new Int32(-(2 ** 31))],
      [Long.MAX_VALUE, Long.MIN_VALUE, Long.ZERO, undefined, Long.fromInt(-1)],
      [date(-1), date(0), date(60_000), date(59_999), undefined, date(120_000)],
      [new Int32(1), new Double(1), 'x', 'x', null, true, new Map([['a', [new Int32(1)]]]), new Int32(1)],
      [
        new ObjectId('6553ede089a249ebce500048'),
        new ObjectId('6553ede189a249ebce500047'),
        new ObjectId('000000000000000000000001'),
      ],
      [new Binary(Buffer.from('ab'), 0), undefined, new Binary(Buffer.from('ac'), 5)],
      Array.from({ length: 1000 }, (_, at) => (at % 7 === 0 ? undefined : new Int32(at * at))),
    ];
    for (const column of columns) expect(decodeColumn(encodeColumn(column)).map(shown)).toEqual(column.map(shown));
  });

  it('of other writers are refused by name', () => {
    const packed = Buffer.from([0x10, 0, 1, 0, 0, 0, 0x80, 0x02, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect(() => decodeColumn(packed)).toThrow('a column of another writer is not part of this simulation');
  });
});

function shown(value: Value | undefined): string | undefined {
  return value === undefined ? undefined : `${typeof value} ${encodeValue(value).toString('hex')}`;
}
