import fc from 'fast-check';
import { BSON, Int32, Timestamp } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { deleteStatement, DocumentBuilder, replaceStatement, updateStatement } from '../../../src/bson/build.js';
import { encodeValue, findElement } from '../../../src/bson/scan.js';
import { bsonValues } from './values.js';

const bytesEqual = (a: Uint8Array, b: Uint8Array) => {
  expect(Buffer.from(a).toString('hex')).toBe(Buffer.from(b).toString('hex'));
};

describe('DocumentBuilder', () => {
  test('writes the bytes that the driver writes', () => {
    const built = new DocumentBuilder(16)
      .int32('i', -5)
      .bool('b', true)
      .string('grün', 'ä'.repeat(300))
      .document('d', BSON.serialize({ x: 1 }))
      .begin('n')
      .begin('m')
      .int32('k', 1)
      .end()
      .end()
      .finish();
    const expected = new Map<string, unknown>([
      ['i', new Int32(-5)],
      ['b', true],
      ['grün', 'ä'.repeat(300)],
      ['d', { x: 1 }],
      ['n', { m: { k: 1 } }],
    ]);
    bytesEqual(built, BSON.serialize(expected));
  });

  test('takes any raw values', () => {
    fc.assert(
      fc.property(fc.array(bsonValues, { maxLength: 5 }), (values) => {
        const builder = new DocumentBuilder(16);
        values.forEach((value, index) => builder.raw(`f${index}`, encodeValue(value)));
        bytesEqual(
          builder.finish(),
          BSON.serialize(new Map(values.map((value, index) => [`f${index}`, value])), { ignoreUndefined: false }),
        );
      }),
    );
  });

  test('appends documents to one buffer, and leaves finished ones unchanged', () => {
    const builder = new DocumentBuilder(16);
    const texts = Array.from({ length: 50 }, (_, index) => 'ä'.repeat(index % 13));
    const built = texts.map((text, index) =>
      builder.begin('n').string('text', text).int32('index', index).end().finish(),
    );
    built.forEach((bytes, index) => bytesEqual(bytes, BSON.serialize({ n: { text: texts[index], index } })));
  });

  test('copies elements of other documents, plain and as literals', () => {
    fc.assert(
      fc.property(bsonValues, fc.boolean(), (value, isLiteral) => {
        const source = BSON.serialize(
          new Map([
            ['first', 1],
            ['ä.$', value],
          ]),
          { ignoreUndefined: false },
        );
        const builder = new DocumentBuilder(16);
        const nameStart = BSON.serialize({ first: 1 }).length;
        const element = findElement(source, 'ä.$');
        if (element === null) throw new Error('not found');
        if (isLiteral) builder.copiedAsLiteral(source, nameStart, element);
        else builder.copied(source, nameStart, element);
        bytesEqual(
          builder.finish(),
          BSON.serialize(new Map([['ä.$', isLiteral ? new Map([['$literal', value]]) : value]]), {
            ignoreUndefined: false,
          }),
        );
      }),
    );
  });

  test('refuses a document that is not closed, or closed twice', () => {
    expect(() => new DocumentBuilder().begin('a').finish()).toThrow();
    const ended = new DocumentBuilder();
    ended.finish();
    expect(() => ended.end()).toThrow();
  });
});

describe('statements', () => {
  const filter = BSON.serialize({ sk: 1, _id: 2 });
  const document = BSON.serialize({ _id: 2, 'a.b': 1, $x: new Timestamp(0n) });

  test('replace whole documents by a pipeline that keeps them unchanged', () => {
    const expected = {
      q: { sk: 1, _id: 2 },
      u: [{ $replaceWith: { $literal: BSON.deserialize(document) } }],
      upsert: true,
    };
    bytesEqual(replaceStatement(filter, document), BSON.serialize(expected));
    bytesEqual(
      replaceStatement(filter, document, { simpleCollation: true }),
      BSON.serialize({ ...expected, collation: { locale: 'simple' } }),
    );
  });

  test('replace a bucket plainly, which servers log as it is, but for a Timestamp(0,0)', () => {
    const bucket = BSON.serialize({ _id: 1, meta: 'a' });
    const plain = { q: { sk: 1, _id: 2 }, u: { _id: 1, meta: 'a' }, upsert: true };
    bytesEqual(replaceStatement(filter, bucket, { isBucket: true }), BSON.serialize(plain));
    const zero = BSON.serialize({ _id: 1, meta: new Timestamp({ t: 0, i: 0 }) });
    expect(replaceStatement(filter, zero, { isBucket: true })).toEqual(replaceStatement(filter, zero));
  });

  test('update by operators or a pipeline, without upsert', () => {
    const operators = BSON.serialize({ $set: { a: 1 } });
    bytesEqual(
      updateStatement(filter, { document: operators }),
      BSON.serialize({ q: { sk: 1, _id: 2 }, u: { $set: { a: 1 } } }),
    );
    const pipeline = encodeValue([{ $set: { a: 1 } }]).bytes;
    bytesEqual(
      updateStatement(filter, { pipeline }),
      BSON.serialize({ q: { sk: 1, _id: 2 }, u: [{ $set: { a: 1 } }] }),
    );
  });

  test('delete one document', () => {
    bytesEqual(deleteStatement(filter), BSON.serialize({ q: { sk: 1, _id: 2 }, limit: 1 }));
  });
});
