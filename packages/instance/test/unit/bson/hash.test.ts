import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { BSON, Code, Decimal128, Double, Long } from 'mongodb';
import { describe, expect, test, it } from 'vitest';
import { hashElement, hashValue, md5BlockBytesMax, md5Start } from '../../../src/bson/hash.js';
import { encodeValue, findElement, findValue } from '../../../src/bson/scan.js';

interface Step {
  command?: { _hashBSONElement?: unknown };
  reply?: { out?: { $numberLong: string } };
}

const steps = readFileSync(new URL('../../corpus/09-shard-key-hashes.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Step)
  .filter((step) => step.command !== undefined && '_hashBSONElement' in step.command);

function valueOf(step: Step): unknown {
  const document = BSON.EJSON.parse(JSON.stringify({ v: step.command?._hashBSONElement }), { relaxed: false }) as {
    v: unknown;
  };
  return document.v;
}

describe('the hash of a hashed shard key', () => {
  test('covers the values of the recording', () => expect(steps.length).toBe(41));

  test.each(steps.map((step) => [JSON.stringify(step.command?._hashBSONElement).slice(0, 60), step] as const))(
    "of %s is the server's",
    (_, step) => {
      expect(hashValue(encodeValue(valueOf(step))).toString()).toBe(step.reply?.out?.$numberLong);
    },
  );

  test('numbers of equal value have one hash', () => {
    expect(hashValue(encodeValue(new Double(7)))).toBe(hashValue(encodeValue(Long.fromNumber(7))));
  });

  test('of 2^63 as a double is that of the lowest integer, of greater ones that of the highest', () => {
    const [lowest, highest] = [-(2n ** 63n), 2n ** 63n - 1n].map((long) =>
      hashValue(encodeValue(Long.fromBigInt(long))),
    );
    // As a real 5.0.7 hashes it.
    expect(hashValue(encodeValue(new Double(2 ** 63)))).toBe(4532067210535695462n);
    expect(lowest).toBe(4532067210535695462n);
    for (const double of [2 ** 63 + 2048, 2 ** 64, Infinity])
      expect(hashValue(encodeValue(new Double(double)))).toBe(highest);
    expect(hashValue(encodeValue(Decimal128.fromString('9223372036854775808')))).toBe(highest);
  });

  test.each([1_000, 1_024, 5_000, 100_000])('hashes a text of %d characters completely', (length) => {
    const value = encodeValue('é'.repeat(length));
    const seed = Buffer.alloc(4);
    const stringType = Buffer.from([15, 0, 0, 0]);
    const expected = createHash('md5').update(seed).update(stringType).update(value.bytes).digest().readBigInt64LE(0);
    expect(hashValue(value)).toBe(expected);
  });

  test('includes the scope of code', () => {
    expect(hashValue(encodeValue(new Code('x', { a: 1 })))).not.toBe(hashValue(encodeValue(new Code('x', { a: 2 }))));
  });

  test.each(
    [
      ...steps.map(valueOf),
      ...[
        0,
        -0,
        0.5,
        -0.5,
        -1,
        2 ** 31,
        -(2 ** 31) - 1,
        2 ** 32,
        -(2 ** 32),
        2 ** 53 - 1,
        -(2 ** 53),
        2 ** 53,
        2 ** 63,
        1e300,
        Number.NaN,
        -Infinity,
      ].map((number) => new Double(number)),
      ...[0, 1, 46, 47, 48, 100].map((length) => 'x'.repeat(length)),
    ].map((value) => [value]),
  )('finds the same hash in a document without allocating, of %j', (value) => {
    const document = Buffer.from(BSON.serialize({ before: 'text', v: value, after: 1 }));
    const [element, found] = [findElement(document, 'v'), findValue(document, 'v')];
    if (element === null || found === null) throw new Error('the document has the field');
    const halves = { high: 0, low: 0 };
    hashElement(document, element, halves);
    expect((BigInt(halves.high) << 32n) + BigInt(halves.low)).toBe(hashValue(found));
  });
});

it('is the start of MD5 for every length that fits', () => {
  for (let length = 0; length <= md5BlockBytesMax; length += 1) {
    for (const input of [Buffer.alloc(length), Buffer.alloc(length, 0xff), randomBytes(length)]) {
      expect(md5Start(input), input.toString('hex')).toBe(createHash('md5').update(input).digest().readBigInt64LE(0));
    }
  }
});
