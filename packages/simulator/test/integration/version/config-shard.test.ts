import { MongoClient } from 'mongodb';
import { afterEach, expect, it } from 'vitest';
import { type Cluster, startWholeCluster } from '../../../src/cluster/cluster.js';
import type { ReleaseSeries } from '../../../src/node/server-version.js';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(version: ReleaseSeries): Promise<{ cluster: Cluster; client: MongoClient }> {
  const cluster = await startWholeCluster({ shards: 1, version, balancerRoundMs: 20 });
  closers.push(() => cluster.close());
  return { cluster, client: await connect(cluster.connectionString) };
}

async function connect(connectionString: string): Promise<MongoClient> {
  const client = await MongoClient.connect(connectionString);
  closers.push(() => client.close());
  return client;
}

it('the config server becomes a shard, and holds documents of users', async () => {
  const { cluster, client } = await start('8.0');
  const admin = client.db('admin');
  await admin.command({ transitionFromDedicatedConfigServer: 1 });
  await admin.command({ transitionFromDedicatedConfigServer: 1 });
  const { shards } = await admin.command({ listShards: 1 });
  expect(shards).toMatchObject([{ _id: 'shard0' }, { _id: 'config', host: `cfg/${cluster.config}` }]);
  await admin.command({ shardCollection: 'shop.items', key: { _id: 'hashed' } });
  const items = client.db('shop').collection<{ _id: number }>('items');
  await items.insertMany(Array.from({ length: 100 }, (_, _id) => ({ _id })));
  await client.db('own').collection('whole').insertOne({ n: 1 });
  const direct = await connect(`mongodb://${cluster.config}/?directConnection=true`);
  const own = await direct.db('shop').collection('items').countDocuments();
  expect(own).toBeGreaterThan(10);
  expect(own).toBeLessThan(90);
  expect((await admin.admin().listDatabases()).databases.map(({ name }) => name)).toEqual([
    'admin',
    'config',
    'own',
    'shop',
  ]);
  await expect(direct.db('admin').command({ transitionFromDedicatedConfigServer: 1 })).rejects.toMatchObject({
    code: 59,
  });
  await expect(admin.command({ transitionToDedicatedConfigServer: 1 })).rejects.toMatchObject({ code: 115 });
  expect(await items.countDocuments()).toBe(100);
});

it('servers before 8.0 do not know it', async () => {
  const { client } = await start('7.0');
  await expect(client.db('admin').command({ transitionFromDedicatedConfigServer: 1 })).rejects.toMatchObject({
    code: 59,
  });
});
