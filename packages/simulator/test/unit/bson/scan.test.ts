import { Int32, ObjectId, Timestamp } from 'bson';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeDocument } from '../../../src/bson/decode.js';
import { encodeDocument, encodeValue } from '../../../src/bson/encode.js';
import {
  decodeFields,
  scanElements,
  elementName,
  scanPath,
  scanTopLevel,
  stampTimestamps,
  withIdFirst,
} from '../../../src/bson/scan.js';
import type { Value } from '../../../src/bson/value.js';
import { documentText } from '../../../src/bson/text.js';
import { doc } from '../json.js';
import { document } from './arbitrary-value.js';

it('finds what decoding finds', () => {
  fc.assert(
    fc.property(document, (original) => {
      const bytes = encodeDocument(original);
      expect([...scanElements(bytes)].map((element) => elementName(bytes, element))).toEqual([...original.keys()]);
      for (const [name, expected] of original) {
        const found = name.includes('.') ? undefined : scanPath(bytes, name);
        if (found !== undefined) expect(encodeValue(found).equals(encodeValue(expected))).toBe(true);
        const place = scanTopLevel(bytes, name);
        expect(
          place === undefined ? undefined : bytes.subarray(place.valueStart, place.end).equals(encodeValue(expected)),
        ).toBe(true);
      }
    }),
    { numRuns: 300 },
  );
});

it('follows paths through documents only', () => {
  const bytes = encodeDocument(doc({ a: { b: { c: 7 } }, l: [{ x: 1 }] }));
  expect(scanPath(bytes, 'a.b.c')).toEqual(new Int32(7));
  expect(scanPath(bytes, 'a.x')).toBeUndefined();
  expect(scanPath(bytes, 'l.x')).toBeUndefined();
});

it('puts _id first and makes it when it is missing', () => {
  const id = new ObjectId('65a000000000000000000001');
  expect(documentText(decodeDocument(withIdFirst(encodeDocument(doc({ a: 1, _id: 2, b: 3 })), () => id)))).toBe(
    '{ _id: 2, a: 1, b: 3 }',
  );
  expect(documentText(decodeDocument(withIdFirst(encodeDocument(doc({ a: 1 })), () => id)))).toBe(
    "{ _id: ObjectId('65a000000000000000000001'), a: 1 }",
  );
  const first = encodeDocument(doc({ _id: 1 }));
  expect(withIdFirst(first, () => id)).toBe(first);
});

it('stamps empty timestamps at the top only, and not in _id', () => {
  const zero = new Timestamp({ t: 0, i: 0 });
  const bytes = encodeDocument(
    new Map<string, Value>([
      ['_id', zero],
      ['t', zero],
      ['n', new Map([['t', zero]])],
      ['u', zero],
    ]),
  );
  let ticks = 0;
  const stamped = decodeDocument(stampTimestamps(bytes, () => new Timestamp({ t: 9, i: (ticks += 1) })));
  expect(documentText(stamped)).toBe(
    '{ _id: Timestamp(0, 0), t: Timestamp(9, 1), n: { t: Timestamp(0, 0) }, u: Timestamp(9, 2) }',
  );
  const plain = encodeDocument(doc({ a: 1 }));
  expect(stampTimestamps(plain, () => zero)).toBe(plain);
});

it('decodes named fields alone', () => {
  const bytes = encodeDocument(doc({ _id: 1, a: { b: 2 }, c: 'x' }));
  expect(documentText(decodeFields(bytes, ['c', 'missing', 'a']))).toBe('{ c: "x", a: { b: 2 } }');
});
