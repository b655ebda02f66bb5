import { createRequire } from 'node:module';
import fc from 'fast-check';
import { Binary, type Document, Long, MongoClient, Timestamp } from 'mongodb';
import { describe, expect, test, vi } from 'vitest';
import { cursorReplyOptions } from '../../../../src/cluster/driver/driver-cursor.js';
import {
  freeReply,
  keepTime,
  MessageReceiver,
  receivesWholeMessages,
  withoutReply,
} from '../../../../src/cluster/driver/driver-receive.js';
import { ScriptedNode } from '../scripted-node.js';

/** The driver's bytes that have arrived. */
interface DriverUtils {
  BufferPool: { prototype: { append(buffer: Uint8Array): void } };
}

/** A message of this size, filled with a number. */
function messageOf(size: number, fill: number): Buffer {
  const message = Buffer.alloc(size, fill);
  message.writeInt32LE(size, 0);
  return message;
}

/** Where every socket receives what begins no large message. */
const shared = new MessageReceiver(() => true).buffer();

/** Lets a receiver read bytes from a socket that has no more than these at a time. */
function receive(bytes: Buffer, readBytes: readonly number[]): Buffer[] {
  const pushed: Buffer[] = [];
  const receiver = new MessageReceiver((messages) => {
    pushed.push(messages);
    return true;
  });
  for (let [at, read] = [0, 0]; at < bytes.length; read += 1) {
    const buffer = receiver.buffer();
    const count = Math.min(readBytes[read % readBytes.length] ?? 1, buffer.length, bytes.length - at);
    bytes.copy(buffer, 0, at, at + count);
    receiver.received(count);
    // Another socket reads into the same buffer.
    if (buffer === shared) buffer.fill(0xff, 0, count);
    at += count;
  }
  return pushed;
}

/** The sizes of the messages in a buffer, which has no part of another one. */
function sizesIn(messages: Buffer): number[] {
  const sizes: number[] = [];
  for (let at = 0; at < messages.length; at += sizes.at(-1) ?? 0) sizes.push(messages.readInt32LE(at));
  return sizes;
}

describe('receiving messages', () => {
  test('works with this version of the driver', async () => {
    // If this fails after an upgrade of the driver, src/cluster/driver/driver-receive.ts must be adapted to its new
    // internals. Until then replies cost about a half more processor time.
    expect(receivesWholeMessages).toBe(true);
    const { BufferPool } = createRequire(import.meta.url)('mongodb/lib/utils') as DriverUtils;
    const append = vi.spyOn(BufferPool.prototype, 'append');
    await using node = await ScriptedNode.start(() => ({ ok: 1, text: 'x'.repeat(2_000_000) }));
    await using client = new MongoClient(node.connectionString);
    await client.db('d').command({ echo: 1 });
    expect(append.mock.calls.some(([{ length }]) => length > 2_000_000)).toBe(true);
    append.mockRestore();
  });

  test('gives all bytes in order, and only whole messages, however they arrive', () => {
    const size = fc.oneof(fc.integer({ min: 16, max: 200 }), fc.integer({ min: 16, max: 100_000 }));
    const read = fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 300_000 }));
    fc.assert(
      fc.property(
        fc.array(size, { minLength: 1, maxLength: 12 }),
        fc.array(read, { minLength: 1, maxLength: 8 }),
        (sizes, reads) => {
          const bytes = Buffer.concat(sizes.map((each, index) => messageOf(each, index)));
          const pushed = receive(bytes, reads);
          expect(Buffer.concat(pushed).equals(bytes)).toBe(true);
          expect(pushed.flatMap(sizesIn)).toEqual(sizes);
        },
      ),
      { numRuns: 100 },
    );
  });

  test('gives what is no message to the driver unchanged', () => {
    const broken = Buffer.concat([messageOf(20, 1), Buffer.from([0xff, 0xff, 0xff, 0xff, 1, 2, 3]), messageOf(30, 2)]);
    expect(Buffer.concat(receive(broken, [9])).equals(broken)).toBe(true);
  });

  test('says when the socket should read no more', () => {
    const receiver = new MessageReceiver(() => false);
    messageOf(16, 0).copy(receiver.buffer());
    expect([receiver.received(10), receiver.received(0)]).toEqual([true, true]);
    expect(receiver.received(6)).toBe(false);
  });

  test('leaves replies of every size as they were sent, on many connections at once', async () => {
    const text = (size: number): string =>
      String(size)
        .repeat(Math.ceil(size / 4))
        .slice(0, size);
    await using node = await ScriptedNode.start(({ body }) => ({ ok: 1, text: text(Number(body['echo'])) }));
    await using client = new MongoClient(node.connectionString);
    const sizes = Array.from({ length: 40 }, (_, index) => 1_000 + index * 70_001);
    const replies = await Promise.all(sizes.map((size) => client.db('d').command({ echo: size })));
    expect(replies.map(({ text: got }, index) => got === text(sizes[index] ?? 0))).toEqual(sizes.map(() => true));
  });
});

describe('the memory of a reply', () => {
  const hash = Buffer.from('a signature of 20 by');
  const $clusterTime = {
    clusterTime: new Timestamp({ t: 7, i: 1 }),
    signature: { hash: new Binary(hash), keyId: Long.fromNumber(9) },
  };

  /** The raw documents of a reply of about this many bytes, and what the node hears in the next command. */
  async function reply(bytes: number, then: (documents: Uint8Array[], whole: Document) => void): Promise<Document> {
    const firstBatch = [1, 2].map((_id) => ({ _id, text: 'x'.repeat(bytes / 2) }));
    const token = { $recordId: new Binary(hash) };
    const cursor = { id: Long.ZERO, ns: 'd.c', firstBatch, postBatchResumeToken: token };
    await using node = await ScriptedNode.start(({ name }) => ({
      ok: 1,
      $clusterTime,
      ...(name === 'find' ? { cursor } : {}),
    }));
    await using client = new MongoClient(node.connectionString, { maxPoolSize: 1 });
    const whole = await client.db('d').command({ find: 'c' }, cursorReplyOptions);
    then((whole['cursor'] as { firstBatch: Uint8Array[] }).firstBatch, whole);
    await client.db('d').command({ ping: 1 });
    return node.named('ping')[0]?.body ?? {};
  }

  test('is freed at once where it is a large one, and the driver goes on with its cluster time', async () => {
    const heard = await reply(400_000, (documents, whole) => {
      const time = whole['$clusterTime'] as typeof $clusterTime;
      keepTime(time);
      const token = withoutReply((whole['cursor'] as { postBatchResumeToken: Document }).postBatchResumeToken);
      expect(documents.map(({ length }) => length > 200_000)).toEqual([true, true]);
      freeReply(documents);
      expect(documents.map(({ length }) => length)).toEqual([0, 0]);
      expect(Buffer.from(time.signature.hash.buffer)).toEqual(hash);
      expect(Buffer.from((token['$recordId'] as Binary).buffer)).toEqual(hash);
    });
    const { signature } = heard['$clusterTime'] as typeof $clusterTime;
    expect(Buffer.from(signature.hash.buffer)).toEqual(hash);
    expect(String(signature.keyId)).toBe('9');
  });

  test('stays where the reply shares it with others, or where it is of another origin', async () => {
    await reply(200, (documents) => {
      const sizes = documents.map(({ length }) => length);
      freeReply(documents);
      expect(documents.map(({ length }) => length)).toEqual(sizes);
    });
    const others = [new Uint8Array(1_000_000)];
    freeReply(others);
    freeReply([]);
    expect(others[0]?.length).toBe(1_000_000);
  });
});
