import { MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import { startWholeCluster } from '../../../src/cluster/cluster.js';

it.each([
  ['5.0', { k: 1 }, ['_id_']],
  ['5.0', { k: 'hashed' }, ['_id_']],
  ['8.0', { k: 1 }, ['_id_', 'k_1', 'k_1_v_1']],
  ['8.0', { k: 'hashed' }, ['_id_']],
] as const)('on %s, dropping all indexes of a collection sharded by %j leaves %j', async (version, key, names) => {
  const cluster = await startWholeCluster({ shards: 2, version });
  const client = await MongoClient.connect(cluster.connectionString);
  await client.db('admin').command({ enableSharding: 'app' });
  await client.db('admin').command({ shardCollection: 'app.c', key });
  const collection = client.db('app').collection('c');
  await collection.createIndexes([{ key: { k: 1, v: 1 } }, { key: { v: 1 } }]);
  await client.db('app').command({ dropIndexes: 'c', index: '*' });
  expect((await collection.indexes()).map(({ name }) => name)).toEqual(names);
  await client.close();
  await cluster.close();
});

it.each([
  ['5.0', { k: 1 }, null],
  ['8.0', { k: 1 }, 370],
  ['8.0', { k: 'hashed' }, null],
] as const)('on %s, dropping the last index of shard key %j is answered %j', async (version, key, code) => {
  const cluster = await startWholeCluster({ shards: 2, version });
  const client = await MongoClient.connect(cluster.connectionString);
  await client.db('admin').command({ enableSharding: 'app' });
  await client.db('admin').command({ shardCollection: 'app.c', key });
  const collection = client.db('app').collection('c');
  const [own] = (await collection.indexes()).filter(({ name }) => name !== '_id_');
  await collection.createIndexes([{ key: { ...key, v: 1 }, name: 'longer' }]);
  const dropped = async (index: unknown): Promise<unknown> =>
    client
      .db('app')
      .command({ dropIndexes: 'c', index })
      .then(
        () => null,
        (error: unknown) => (error as { code: unknown }).code,
      );
  expect(await dropped([own?.name, 'longer'])).toBe(code);
  if (code !== null) expect([await dropped({ ...key }), await dropped('longer')]).toEqual([null, code]);
  await client.close();
  await cluster.close();
});

it.each([
  ['7.0', { k: 1 }, null],
  ['8.0', { k: 1 }, 72],
  ['8.0', { k: 'hashed' }, null],
] as const)('on %s, hiding the last visible index of shard key %j is answered %j', async (version, key, code) => {
  const cluster = await startWholeCluster({ shards: 2, version });
  const client = await MongoClient.connect(cluster.connectionString);
  await client.db('admin').command({ enableSharding: 'app' });
  await client.db('admin').command({ shardCollection: 'app.c', key });
  const collection = client.db('app').collection('c');
  const [own] = (await collection.indexes()).filter(({ name }) => name !== '_id_');
  await collection.createIndexes([{ key: { ...key, v: 1 }, name: 'longer' }]);
  const hidden = async (name: unknown): Promise<unknown> =>
    client
      .db('app')
      .command({ collMod: 'c', index: { name, hidden: true } })
      .then(
        () => null,
        (error: unknown) => (error as { code: unknown }).code,
      );
  expect(await hidden('longer')).toBeNull();
  expect(await hidden(own?.name)).toBe(code);
  expect(await hidden('longer')).toBeNull();
  await client.close();
  await cluster.close();
});
