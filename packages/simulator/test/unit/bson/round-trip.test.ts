import { serialize } from 'bson';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeDocument } from '../../../src/bson/decode.js';
import { encodeDocument } from '../../../src/bson/encode.js';
import { fromExtendedJson, toExtendedJson } from '../../extended-json.js';
import { decodeKeyString } from '../../../src/bson/key-string-decode.js';
import { encodeKeyString } from '../../../src/bson/key-string.js';
import { compareValues } from '../../../src/bson/compare.js';
import { RawDocument, type Value } from '../../../src/bson/value.js';
import { document, value } from './arbitrary-value.js';

describe('encode and decode', () => {
  it('give the same bytes back', () => {
    fc.assert(
      fc.property(document, (doc) => {
        const bytes = encodeDocument(doc);
        expect(encodeDocument(decodeDocument(bytes)).equals(bytes)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('keep the bits of every NaN', () => {
    const negativeNaN = Buffer.concat([
      Buffer.from([16, 0, 0, 0, 1, 0x61, 0]),
      Buffer.from('010000000000f8ff', 'hex'),
      Buffer.from([0]),
    ]);
    expect(encodeDocument(decodeDocument(negativeNaN)).equals(negativeNaN)).toBe(true);
  });

  it('write what the driver writes', () => {
    const plain = { a: 1, b: 'text ü', c: [1.5, null, { d: true }], e: new Date(5) };
    const doc = decodeDocument(serialize(plain));
    expect(encodeDocument(doc).equals(Buffer.from(serialize(plain)))).toBe(true);
  });

  it('put raw documents in as they are', () => {
    const inner = new Map<string, Value>([['x', 'y']]);
    const raw = new RawDocument(encodeDocument(inner));
    expect(encodeDocument(new Map<string, Value>([['batch', [raw, raw]]]))).toEqual(
      encodeDocument(new Map<string, Value>([['batch', [inner, inner]]])),
    );
  });

  it('refuse bytes that are no document', () => {
    expect(() => decodeDocument(Buffer.from([4, 0, 0, 0]))).toThrow('length');
    expect(() => decodeDocument(Buffer.from([13, 0, 0, 0, 2, 0x61, 0, 200, 0, 0, 0, 0, 0]))).toThrow('exceeds');
    expect(() => decodeDocument(Buffer.from([8, 0, 0, 0, 0x50, 0x61, 0, 0]))).toThrow('unrecognized BSON type 80');
  });
});

it('extended JSON comes back as the same value', () => {
  const canonical = {
    a: { $numberInt: '1' },
    b: { $numberDouble: '-0.0' },
    c: { $date: { $numberLong: '-5' } },
    d: { $binary: { base64: 'Ymlu', subType: '02' } },
  };
  expect(toExtendedJson(fromExtendedJson(canonical))).toEqual(canonical);
});

it('key strings of values without decimals come back equal', () => {
  const isDecimalFree = (candidate: Value): boolean =>
    !JSON.stringify(toExtendedJson(candidate)).includes('$numberDecimal');
  fc.assert(
    fc.property(value.filter(isDecimalFree), (candidate) => {
      const [back] = decodeKeyString(encodeKeyString([candidate]));
      expect(compareValues(back ?? null, candidate)).toBe(0);
    }),
    { numRuns: 1000 },
  );
});
