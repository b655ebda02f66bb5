import { BSON, MongoClient } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { DocumentBuilder } from '../../../../src/bson/build.js';
import {
  decodedStatements,
  sendsReadyMadeBuffers,
  statementField,
  SectionBuffers,
} from '../../../../src/cluster/driver/driver-sequence.js';
import { ScriptedNode } from '../scripted-node.js';

const statements = [
  BSON.serialize({ q: { _id: 1 }, u: [{ $set: { '10': 1, '2': 2 } }] }),
  BSON.serialize({ q: { _id: 2 }, u: {} }),
];

describe('statements for the driver', () => {
  test('are sent as ready-made buffers with this version of the driver', () => {
    // If this fails after an upgrade of the driver, src/cluster/driver/driver-sequence.ts must be adapted to its new
    // internals. Until then writes use the public API and cost about twice the processor time.
    expect(sendsReadyMadeBuffers).toBe(true);
  });

  test('have the form of an OP_MSG document sequence', () => {
    const field = statementField('updates', statements) as { toBin: () => Uint8Array };
    const content = Buffer.concat(statements);
    const head = Buffer.alloc(5);
    head[0] = 1;
    head.writeInt32LE(4 + 'updates'.length + 1 + content.length, 1);
    expect(Buffer.from(field.toBin())).toEqual(Buffer.concat([head, Buffer.from('updates\0'), content]));
  });

  test('arrive unchanged, many at once and larger than a socket accepts', async () => {
    await using node = await ScriptedNode.start(() => ({ ok: 1, n: 1 }));
    await using client = new MongoClient(node.connectionString);
    const sent = Array.from({ length: 12 }, (_, write) =>
      Array.from({ length: 3 }, (__, index) =>
        BSON.serialize({ _id: `${write}/${index}`, text: 'x'.repeat(900_000 + write) }),
      ),
    );
    await Promise.all(
      sent.map((documents, write) =>
        client.db('d').command({ insert: `c${write}`, documents: statementField('documents', documents) }),
      ),
    );
    for (const [write, documents] of sent.entries()) {
      const arrived =
        node
          .named('insert')
          .find(({ body }) => body['insert'] === `c${write}`)
          ?.sequences.get('documents') ?? [];
      expect(arrived.map((bytes, index) => bytes.equals(documents[index] ?? new Uint8Array()))).toEqual([
        true,
        true,
        true,
      ]);
    }
  });

  test('lose nothing through the public API', () => {
    const again = decodedStatements(statements).map((statement) => BSON.serialize(statement));
    expect(again.map((bytes) => Buffer.from(bytes).toString('hex'))).toEqual(
      statements.map((bytes) => Buffer.from(bytes).toString('hex')),
    );
  });

  test('are refused through the public API if the driver would change them', () => {
    expect(() => decodedStatements([new DocumentBuilder().int32('a\udcff', 1).finish()])).toThrow(TypeError);
  });
});

const mebibyte = 2 ** 20;

describe('buffers for the sections of messages', () => {
  test('are reused once they were returned, and never twice at a time', () => {
    const buffers = new SectionBuffers();
    const [first, second] = [buffers.take(mebibyte), buffers.take(mebibyte)];
    expect(first === second).toBe(false);
    buffers.give(first);
    expect(buffers.take(100) === first).toBe(true);
    expect(buffers.take(100) === first).toBe(false);
  });

  test('are as large as requested', () => {
    const buffers = new SectionBuffers();
    const small = buffers.take(10);
    buffers.give(small);
    expect(buffers.take(small.length + 1).length).toBeGreaterThan(small.length);
    expect(buffers.take(48_000_000).length).toBeGreaterThanOrEqual(48_000_000);
  });

  test('are pooled only in small numbers, and never if large', () => {
    const buffers = new SectionBuffers();
    const large = buffers.take(16 * mebibyte);
    buffers.give(large);
    expect(buffers.take(mebibyte) === large).toBe(false);
    const many = Array.from({ length: 20 }, () => buffers.take(mebibyte));
    for (const buffer of many) buffers.give(buffer);
    const again = new Set(Array.from({ length: 20 }, () => buffers.take(mebibyte)));
    expect(many.filter((buffer) => again.has(buffer)).length).toBe(4);
  });
});
