import { type Document, MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { type Cluster, startWholeCluster } from '../../../src/cluster/cluster.js';
import { runFaultLine } from '../../../src/process/fault-orders.js';

const configServer = 'config';

class Upgraded implements AsyncDisposable {
  private constructor(
    readonly cluster: Cluster,
    readonly client: MongoClient,
    readonly shard0: MongoClient,
  ) {}

  static async start(version: '5.0' | '6.0'): Promise<Upgraded> {
    const cluster = await startWholeCluster({ shards: 2, version });
    const client = await MongoClient.connect(cluster.connectionString);
    return new Upgraded(
      cluster,
      client,
      await MongoClient.connect(`mongodb://${cluster.shards[0] ?? ''}/?directConnection=true`),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.shard0.close();
    await this.cluster.close();
  }
}

/**
 * Of a node that may have just been started again: a client that was connected before would meet its old connections.
 */
async function versionOf(host = ''): Promise<unknown> {
  const client = await MongoClient.connect(`mongodb://${host}/?directConnection=true`);
  try {
    return (await client.db('admin').command({ buildInfo: 1 })).version;
  } finally {
    await client.close();
  }
}

const raise = (client: MongoClient, to: string): Promise<Document> =>
  client.db('admin').command({ setFeatureCompatibilityVersion: to, confirm: true });

describe('a cluster that is upgraded node by node', () => {
  it('serves by nodes of two releases, and raises the compatibility version once all are upgraded', async () => {
    await using upgraded = await Upgraded.start('6.0');
    const { cluster, client } = upgraded;
    const items = client.db('shop').collection<{ _id: number }>('items');
    await client.db('admin').command({ shardCollection: 'shop.items', key: { _id: 'hashed' } });
    await items.insertMany(Array.from({ length: 20 }, (_, _id) => ({ _id })));
    for (const node of [configServer, 'shard0']) await cluster.node(node).upgrade('7.0');
    expect([await versionOf(cluster.router), await versionOf(cluster.shards[0])]).toEqual(['6.0.14', '7.0.16']);
    expect(await items.countDocuments()).toBe(20);
    expect(await items.insertOne({ _id: 20 })).toMatchObject({ acknowledged: true });
    await expect(client.db('admin').command({ setFeatureCompatibilityVersion: '7.0' })).rejects.toMatchObject({
      code: 4_926_900,
    });
    for (const node of ['shard1', 'router0']) await cluster.node(node).upgrade('7.0');
    await expect(cluster.node('shard1').upgrade('8.0')).rejects.toThrow(
      /8\.0 does not start on data of feature compatibility version 6\.0/,
    );
    expect(await items.countDocuments()).toBe(21);
    await raise(client, '7.0');
    expect(
      await client
        .db('admin')
        .collection('system.version')
        .findOne({ _id: 'featureCompatibilityVersion' as never }),
    ).toMatchObject({ version: '7.0' });
  });

  it('goes back to the older release as long as the feature compatibility version stays', async () => {
    await using upgraded = await Upgraded.start('6.0');
    const { cluster, client } = upgraded;
    await cluster.node('shard0').upgrade('7.0');
    await cluster.node('shard0').upgrade('6.0');
    expect(await versionOf(cluster.shards[0])).toBe('6.0.14');
    await client.db('shop').collection('items').insertOne({ n: 1 });
  });

  it('has the features of the older release alone until then', async () => {
    await using upgraded = await Upgraded.start('5.0');
    const { cluster, client, shard0 } = upgraded;
    const shop = client.db('shop');
    await shop.collection('items').insertOne({ n: 1 });
    await shop.collection('items').createIndexes([{ key: { n: 1 }, name: 'n_1' }]);
    for (const node of [configServer, 'shard0', 'shard1', 'router0']) await cluster.node(node).upgrade('6.0');
    const tries: (() => Promise<unknown>)[] = [
      () =>
        client
          .db('admin')
          .aggregate([{ $changeStream: { allChangesForCluster: true, showExpandedEvents: true } }])
          .toArray(),
      () =>
        shard0
          .db('admin')
          .aggregate([{ $changeStream: { allChangesForCluster: true, showExpandedEvents: true } }])
          .toArray(),
      () => shop.command({ collMod: 'items', index: { name: 'n_1', prepareUnique: true } }),
      () => shop.command({ find: 'items', collectionUUID: '' }),
      () => shop.command({ create: 'clustered', clusteredIndex: { key: { _id: 1 }, unique: true } }),
      () => client.db('admin').command({ setUserWriteBlockMode: 1, global: false }),
    ];
    for (const attempt of tries) await expect(attempt()).rejects.toMatchObject({ code: expect.any(Number) as unknown });
    await raise6(client);
    await shop.command({ collMod: 'items', index: { name: 'n_1', prepareUnique: true } });
    await shop.command({ create: 'clustered', clusteredIndex: { key: { _id: 1 }, unique: true } });
    await client.db('admin').command({ setUserWriteBlockMode: 1, global: false });
  });

  it('is upgraded by orders of another process too', async () => {
    await using upgraded = await Upgraded.start('6.0');
    const { nodes } = upgraded.cluster;
    expect(await runFaultLine(nodes, '{"upgrade":"shard0","release":"7.0"}')).toBe(
      '{"done":{"upgrade":"shard0","release":"7.0"}}',
    );
    expect(await runFaultLine(nodes, '{"upgrade":"shard0","release":"8.0"}')).toMatch(/"failed".*does not start/);
    expect(await runFaultLine(nodes, '{"upgrade":"shard0","release":"9.9"}')).toMatch(/"failed".*is not simulated/);
    expect(await versionOf(upgraded.cluster.shards[0])).toBe('7.0.16');
  });
});

/** Before 7.0 nothing has to be confirmed. */
function raise6(client: MongoClient): Promise<Document> {
  return client.db('admin').command({ setFeatureCompatibilityVersion: '6.0' });
}
