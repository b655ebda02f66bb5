import { Int32, Timestamp, Long, MongoClient } from 'mongodb';
import { describe, expect, it, test } from 'vitest';
import { appendNote } from '../../../../src/cluster/cluster-time.js';
import { stated, takenBy, callKind, databaseOf } from '../../../../src/cluster/driver/commands.js';
import { batch, success } from '../scripted-node.js';
import { signal, withClient } from './client-to-scripted-node.js';

const majority = { w: 'majority' };

describe('a command', () => {
  it('that changes something waits for a majority, without a time limit', () => {
    const note = { appendOplogNote: 1, data: {} };
    expect(stated(note)).toEqual({ ...note, writeConcern: majority });
    expect(Object.keys(stated(note))[0]).toBe('appendOplogNote');
  });

  it('that reads documents states a level and that it has no time limit', () => {
    expect(stated({ count: 'c' })).toEqual({ count: 'c', readConcern: { level: 'local' }, maxTimeMS: 0 });
    expect(stated({ aggregate: 1, pipeline: [{ $currentOp: {} }], cursor: {} })).toMatchObject({
      readConcern: { level: 'local' },
      maxTimeMS: 0,
    });
  });

  it('that opens a change stream states the one level that it has', () => {
    const open = { aggregate: 1, pipeline: [{ $changeStream: {} }], cursor: {} };
    expect(stated(open)).toMatchObject({ readConcern: { level: 'majority' } });
  });

  it('keeps what it states itself', () => {
    const drop = { drop: 'c', writeConcern: { w: 1 } };
    expect(stated(drop)).toBe(drop);
    const find = { find: 'c', readConcern: { level: 'snapshot', atClusterTime: new Timestamp(7n) }, maxTimeMS: 5 };
    expect(stated(find)).toEqual(find);
  });

  it('that takes neither, and a statement of a transaction, stay as they are', () => {
    for (const command of [
      { listCollections: 1 },
      { setUserWriteBlockMode: 1, global: true },
      { find: 'c', autocommit: false },
    ])
      expect(stated(command)).toBe(command);
  });

  it('without a row is known as such', () => {
    expect([takenBy({ unheardOf: 1 }), takenBy({})]).toEqual([null, null]);
  });
});

describe('over the wire', () => {
  it('a note, a read and a cursor state what they take, and a later batch nothing', async () => {
    await withClient(
      ({ name }) => (name === 'find' ? batch(5n, []) : name === 'getMore' ? batch(0n, [], {}, 'nextBatch') : success()),
      async (nodeClient, node) => {
        await appendNote(nodeClient, { signal });
        await nodeClient.command('db', { count: 'c' }, { signal });
        const cursor = await nodeClient.openCursor('db', { find: 'c' }, { signal });
        await cursor.next({ signal });
        await nodeClient.command('db', { count: 'c' }, { signal, maxTime_ms: 9 });
        expect(node.named('appendOplogNote')[0]?.body['writeConcern']).toEqual(majority);
        const read = { readConcern: { level: 'local' }, maxTimeMS: new Int32(0) };
        expect(node.named('count')[0]?.body).toMatchObject(read);
        expect(node.named('find')[0]?.body).toMatchObject(read);
        expect(node.named('getMore')[0]?.body).not.toHaveProperty('maxTimeMS');
        expect(node.named('count')[1]?.body).toMatchObject({ ...read, maxTimeMS: new Int32(9) });
      },
    );
  });

  it('a read at majority waits for a block of user writes that was set', async () => {
    const answer = { ...batch(0n, []), operationTime: new Timestamp({ t: 70, i: 1 }) };
    await withClient(
      () => answer,
      async (nodeClient, node) => {
        await nodeClient.command('admin', { setUserWriteBlockMode: 1, global: true }, { signal });
        await nodeClient.command('config', { find: 'c', readConcern: { level: 'majority' } }, { signal });
        expect(node.named('find')[0]?.body['readConcern']).toEqual({
          level: 'majority',
          afterClusterTime: new Timestamp({ t: 70, i: 1 }),
        });
      },
    );
  });
});

it.each([
  [{ find: 'orders', filter: {} }, 'find of shop.orders'],
  [{ getMore: Long.fromNumber(7), collection: 'orders' }, 'getMore of shop.orders'],
  [{ getMore: Long.fromNumber(7), collection: '$cmd.aggregate' }, 'getMore of a change stream'],
  [{ aggregate: 1, pipeline: [{ $changeStream: {} }] }, 'aggregate of a change stream'],
  [{ aggregate: 'orders', pipeline: [{ $changeStream: {} }] }, 'aggregate of a change stream'],
  [{ aggregate: 1, pipeline: [{ $currentOp: {} }] }, 'aggregate of $currentOp'],
  [{ aggregate: 'orders', pipeline: [{ $indexStats: {} }] }, 'aggregate of shop.orders'],
  [{ appendOplogNote: 1 }, 'appendOplogNote'],
])('%j is known as %s', (command, kind) => {
  expect(callKind('shop', command)).toBe(kind);
});

const client = (): MongoClient => new MongoClient('mongodb://127.0.0.1:1/');

test('the databases of a client are cached, apart from those of others', () => {
  const [one, other] = [client(), client()];
  const shop = databaseOf(one, 'shop');
  expect(shop.databaseName).toBe('shop');
  expect(databaseOf(one, 'shop')).toBe(shop);
  expect(databaseOf(one, 'admin').databaseName).toBe('admin');
  expect(databaseOf(other, 'shop')).not.toBe(shop);
});

test('the cache of a client has at most a thousand', () => {
  const one = client();
  const first = databaseOf(one, 'first');
  for (let number = 0; number < 1_000; number += 1) databaseOf(one, `database${number}`);
  expect(databaseOf(one, 'first')).not.toBe(first);
});
