import { BSON, Long, Timestamp, Binary, MongoClient, MongoServerError } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { ClientRing, clientOptions } from '../../../../src/cluster/driver/clients.js';
import {
  cursorReplyOptions,
  type DecodedCursor,
  readCursorReply,
} from '../../../../src/cluster/driver/driver-cursor.js';
import { DriverNodeClient } from '../../../../src/cluster/driver/driver-node-client.js';
import { classify } from '../../../../src/cluster/failure.js';
import { batch, failure, ScriptedNode, type Script } from '../scripted-node.js';
import { signal, withClient } from './client-to-scripted-node.js';

const documents = Array.from({ length: 1_200 }, (_, index) => ({ _id: index, text: 'x'.repeat(index % 7) }));
const bytesOf = (cursor: object): Buffer => Buffer.from(BSON.serialize({ cursor }));
const { fieldsAsRaw, promoteLongs } = cursorReplyOptions;
const decoded = (bytes: Buffer): DecodedCursor =>
  BSON.deserialize(bytes, { fieldsAsRaw, promoteLongs })['cursor'] as DecodedCursor;
const replyOf = (cursor: object): DecodedCursor => decoded(bytesOf(cursor));

describe('the cursor of a reply', () => {
  test('its documents are views of the reply, in order', () => {
    const bytes = bytesOf({ firstBatch: documents, id: Long.fromString('9007199254740993'), ns: 'db.a.b' });
    const reply = readCursorReply(decoded(bytes));
    expect(reply.documents.map((document) => BSON.deserialize(document))).toEqual(documents);
    expect(reply.documents.every(({ buffer }) => buffer === bytes.buffer)).toBe(true);
    expect(reply.bytes).toBe(documents.reduce((sum, document) => sum + BSON.calculateObjectSize(document), 0));
    expect([reply.id.toString(), reply.namespace]).toEqual(['9007199254740993', 'db.a.b']);
  });

  test('its times and tokens', () => {
    const time = new Timestamp({ t: 4_000_000_000, i: 7 });
    const reply = readCursorReply(
      replyOf({
        nextBatch: [],
        postBatchResumeToken: { _data: '82AB' },
        atClusterTime: time,
        id: Long.ZERO,
        ns: 'db.c',
      }),
    );
    expect(reply).toMatchObject({ documents: [], bytes: 0, resumeToken: '82AB', atClusterTime: time });
    expect(reply.id.isZero()).toBe(true);
  });

  test('ignores tokens of another form', () => {
    const { resumeToken } = readCursorReply(
      replyOf({
        nextBatch: [],
        postBatchResumeToken: { _data: BSON.Binary.createFromBase64('AAEC') },
        id: Long.ZERO,
        ns: 'db.c',
      }),
    );
    expect(resumeToken).toBeUndefined();
  });
});

describe('cursors', () => {
  const documents = [{ _id: 1, list: [{ a: 1 }] }, { _id: 2 }];

  test('return bytes and their times', async () => {
    const fields = { postBatchResumeToken: { _data: '82AB' }, atClusterTime: new Timestamp({ t: 5, i: 6 }) };
    await withClient(
      () => batch(0n, documents, fields),
      async (nodeClient) => {
        const cursor = await nodeClient.openCursor('db', { find: 'coll' }, { signal });
        expect(cursor.open).toBe(false);
        expect(cursor.first.documents.map((bytes) => BSON.deserialize(bytes))).toEqual(documents);
        // Views of one buffer: nothing was decoded or copied on the way.
        expect(cursor.first.documents[0]?.buffer).toBe(cursor.first.documents[1]?.buffer);
        expect(cursor.first).toMatchObject({
          resumeToken: '82AB',
          atClusterTime: new Timestamp({ t: 5, i: 6 }),
          operationTime: new Timestamp({ t: 100, i: 1 }),
        });
        expect(cursor.first.bytes).toBe(
          BSON.serialize(documents[0] ?? {}).length + BSON.serialize(documents[1] ?? {}).length,
        );
      },
    );
  });

  test("continue in their own session, with the caller's batch limit and wait", async () => {
    const script: Script = ({ name }) => (name === 'getMore' ? batch(0n, documents, {}, 'nextBatch') : batch(77n, []));
    await withClient(script, async (nodeClient, node) => {
      const cursor = await nodeClient.openCursor(
        'db',
        { find: 'coll', batchSize: 0 },
        { signal, batchDocumentsMax: 500 },
      );
      expect(cursor.open).toBe(true);
      expect((await cursor.next({ signal, maxTime_ms: 900 })).documents).toHaveLength(2);
      expect(cursor.open).toBe(false);
      const [find] = node.named('find');
      const [getMore] = node.named('getMore');
      expect(getMore?.body).toMatchObject({
        getMore: Long.fromNumber(77),
        collection: 'coll',
        batchSize: { value: 500 },
        maxTimeMS: { value: 900 },
      });
      expect(getMore?.body['lsid']).toEqual(find?.body['lsid']);
    });
  });

  test('add no time of their own to a read', async () => {
    const readConcern = { level: 'snapshot', atClusterTime: new Timestamp({ t: 9, i: 1 }) };
    await withClient(
      () => batch(0n, []),
      async (nodeClient, node) => {
        for (let time = 0; time < 2; time += 1)
          await nodeClient.openCursor('db', { find: 'coll', readConcern }, { signal });
        for (const { body } of node.named('find')) expect(body['readConcern']).toEqual(readConcern);
      },
    );
  });

  test('are freed on the server when closed early, and closing never throws', async () => {
    const script: Script = ({ name }) => (name === 'killCursors' ? failure(1, 'InternalError') : batch(77n, []));
    await withClient(script, async (nodeClient, node) => {
      const cursor = await nodeClient.openCursor('db', { find: 'coll' }, { signal });
      await cursor.close();
      await cursor.close();
      expect(node.named('killCursors').map(({ body }) => body['cursors'] as unknown)).toEqual([[Long.fromNumber(77)]]);
      expect(cursor.open).toBe(false);
    });
  });

  test("pass the server's failures on", async () => {
    const script: Script = ({ name }) => (name === 'getMore' ? failure(43, 'CursorNotFound') : batch(77n, []));
    await withClient(script, async (nodeClient) => {
      const cursor = await nodeClient.openCursor('db', { find: 'coll' }, { signal });
      const error = await cursor.next({ signal }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(MongoServerError);
      expect(classify(error)).toBe('cursorLost');
      await cursor.close();
    });
  });
});

describe('the time of a batch', () => {
  const [early, late] = [new Timestamp({ t: 90, i: 1 }), new Timestamp({ t: 120, i: 1 })];
  const signature = { hash: new Binary(Buffer.alloc(20)), keyId: Long.ZERO };
  const reply = { ...batch(0n, [{ _id: 1 }]), operationTime: early, $clusterTime: { clusterTime: late, signature } };

  test.each([
    ['a router is the highest time it knows: its own may not include every shard', true, late],
    ['a shard is its own', false, early],
  ])('of %s', async (_whose, isRouter, expected) => {
    await using node = await ScriptedNode.start(() => reply);
    const ring = new ClientRing([
      () => new MongoClient(`${node.connectionString}?directConnection=true`, clientOptions({})),
    ]);
    const nodeClient = new DriverNodeClient({ label: 'test', ring, readPreference: null, isRouter });
    try {
      expect((await nodeClient.openCursor('db', { find: 'coll' }, { signal })).first.operationTime).toEqual(expected);
    } finally {
      await nodeClient.close();
    }
  });
});
