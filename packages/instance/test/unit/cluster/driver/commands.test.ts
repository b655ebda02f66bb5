import { Int32, Timestamp, Long, MongoClient } from 'mongodb';
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { appendNote } from '../../../../src/cluster/cluster-time.js';
import { stated, takenBy, callKind, databaseOf } from '../../../../src/cluster/driver/commands.js';
import { batch, success } from '../scripted-node.js';
import { signal, withClient } from './client-to-scripted-node.js';

const majority = { w: 'majority' };

describe('a command', () => {
  it('that changes something waits for a majority, without a time limit', () => {
    const note = { appendOplogNote: 1, data: {} };
    expect(stated('admin', note)).toEqual({ ...note, writeConcern: majority });
    expect(Object.keys(stated('admin', note))[0]).toBe('appendOplogNote');
  });

  it('that reads documents states a level and that it has no time limit', () => {
    expect(stated('db', { count: 'c' })).toEqual({ count: 'c', readConcern: { level: 'local' }, maxTimeMS: 0 });
    expect(stated('admin', { aggregate: 1, pipeline: [{ $currentOp: {} }], cursor: {} })).toMatchObject({
      readConcern: { level: 'local' },
      maxTimeMS: 0,
    });
  });

  it('that opens a change stream states the one level that it has', () => {
    const open = { aggregate: 1, pipeline: [{ $changeStream: {} }], cursor: {} };
    expect(stated('admin', open)).toMatchObject({ readConcern: { level: 'majority' } });
  });

  it.each([
    ['admin', { find: 'system.users', filter: {} }],
    ['config', { find: 'migrations', limit: 1 }],
    ['config', { count: 'shards' }],
    ['admin', { aggregate: 'system.roles', pipeline: [] }],
  ])('that reads what a cluster keeps about itself reads what a majority has: %s %j', (database, command) => {
    expect(stated(database, command)).toEqual({ ...command, readConcern: { level: 'majority' }, maxTimeMS: 0 });
  });

  it('keeps what it states itself', () => {
    const drop = { drop: 'c', writeConcern: { w: 1 } };
    expect(stated('db', drop)).toBe(drop);
    const find = { find: 'c', readConcern: { level: 'snapshot', atClusterTime: new Timestamp(7n) }, maxTimeMS: 5 };
    expect(stated('db', find)).toEqual(find);
  });

  it('that takes neither, and a statement of a transaction, stay as they are', () => {
    for (const command of [
      { listCollections: 1 },
      { setUserWriteBlockMode: 1, global: true },
      { find: 'c', autocommit: false },
    ])
      expect(stated('db', command)).toBe(command);
  });

  it('without a row is known as such', () => {
    expect([takenBy({ unheardOf: 1 }), takenBy({})]).toEqual([null, null]);
  });
});

/** Commands of servers that change something, or read documents, and that Convoy could begin to send. */
const otherCommands = [
  ...['abortTransaction', 'bulkWrite', 'cleanupOrphaned', 'clearJumboFlag', 'cloneCollectionAsCapped', 'collStats'],
  ...['commitTransaction', 'compact', 'convertToCapped', 'createUser', 'currentOp', 'distinct', 'dropRole', 'dropUser'],
  ...['explain', 'fsync', 'grantRolesToUser', 'killOp', 'killSessions', 'mapReduce', 'mergeChunks', 'moveChunk'],
  ...['moveCollection', 'movePrimary', 'moveRange', 'refineCollectionShardKey', 'reshardCollection', 'serverStatus'],
  ...['setFeatureCompatibilityVersion', 'setParameter', 'split', 'unshardCollection', 'updateRole', 'updateUser'],
];

it('of the sources has a row, which says what it takes', () => {
  const folder = new URL('../../../../src/', import.meta.url);
  const sources = globSync('**/*.ts', { cwd: folder }).map((file) => readFileSync(new URL(file, folder), 'utf8'));
  const sent = otherCommands.filter((name) => sources.some((text) => new RegExp(`\\{\\s+${name}:`).test(text)));
  expect(sent).toContain('split');
  expect(sent.filter((name) => takenBy({ [name]: 1 }) === null)).toEqual([]);
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

  it('a read of what a cluster keeps about itself waits for earlier writes, and a change stream does not', async () => {
    const answer = { ...batch(0n, []), operationTime: new Timestamp({ t: 70, i: 1 }) };
    await withClient(
      () => answer,
      async (nodeClient, node) => {
        await appendNote(nodeClient, { signal });
        await nodeClient.command('config', { find: 'migrations', limit: 1 }, { signal });
        const users = await nodeClient.openCursor('admin', { find: 'system.users' }, { signal });
        await users.close();
        const open = { aggregate: 1, pipeline: [{ $changeStream: {} }], cursor: {} };
        await (await nodeClient.openCursor('admin', open, { signal })).close();
        const causal = { level: 'majority', afterClusterTime: new Timestamp({ t: 70, i: 1 }) };
        const concerns = node.named('find').map(({ body }): unknown => body['readConcern']);
        expect(concerns).toEqual([causal, causal]);
        expect(node.named('aggregate')[0]?.body['readConcern']).toEqual({ level: 'majority' });
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
