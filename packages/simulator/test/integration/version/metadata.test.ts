import { type Document, MongoClient, ObjectId, UUID } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { startWholeCluster } from '../../../src/cluster/cluster.js';
import type { ReleaseSeries } from '../../../src/node/server-version.js';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function clusterOf(version: ReleaseSeries): Promise<MongoClient> {
  const cluster = await startWholeCluster({ shards: 2, version });
  const client = await new MongoClient(cluster.connectionString).connect();
  closers.push(
    () => cluster.close(),
    () => client.close(),
  );
  return client;
}

function config(client: MongoClient, collection: string): Promise<Document[]> {
  return client.db('config').collection(collection).find().toArray();
}

describe('metadata of a sharded cluster by release', () => {
  it('names chunks by namespace in 4.4, where dropped collections leave an entry', async () => {
    const client = await clusterOf('4.4');
    const admin = client.db('admin');
    await admin.command({ enableSharding: 'shop' });
    await admin.command({ shardCollection: 'shop.orders', key: { n: 1 } });
    const [collection] = await config(client, 'collections');
    expect(Object.keys(collection ?? {})).toEqual([
      '_id',
      'lastmodEpoch',
      'lastmod',
      'dropped',
      'key',
      'unique',
      'uuid',
      'distributionMode',
    ]);
    const [chunk] = await config(client, 'chunks');
    expect(chunk).toMatchObject({
      _id: expect.any(ObjectId) as unknown,
      ns: 'shop.orders',
      lastmodEpoch: collection?.lastmodEpoch as unknown,
    });
    expect(chunk).not.toHaveProperty('uuid');
    expect((await config(client, 'shards'))[0]).not.toHaveProperty('topologyTime');
    expect((await config(client, 'databases'))[0]).toMatchObject({ partitioned: true, version: { lastMod: 1 } });
    await client.db('shop').collection('orders').drop();
    expect(await config(client, 'chunks')).toEqual([]);
    expect((await config(client, 'collections'))[0]).toMatchObject({ _id: 'shop.orders', dropped: true });
  });

  it.each(['5.0', '6.0', '7.0', '8.0'] as const)('names chunks by UUID in %s', async (version) => {
    const client = await clusterOf(version);
    const admin = client.db('admin');
    if (version === '5.0') {
      await expect(admin.command({ shardCollection: 'shop.orders', key: { n: 'hashed' } })).rejects.toMatchObject({
        code: 26,
      });
      await admin.command({ enableSharding: 'shop' });
    }
    await admin.command({ shardCollection: 'shop.orders', key: { n: 'hashed' } });
    const [collection] = await config(client, 'collections');
    const chunks = await config(client, 'chunks');
    expect(chunks).toHaveLength(version === '8.0' ? 2 : 4);
    expect(chunks[0]).toMatchObject({ uuid: expect.any(UUID) as unknown });
    expect(chunks[0]?.uuid).toEqual(collection?.uuid);
    expect('onCurrentShardSince' in (chunks[0] ?? {})).toBe(version === '7.0' || version === '8.0');
    expect('partitioned' in ((await config(client, 'databases'))[0] ?? {})).toBe(version === '5.0');
    expect('currentVersion' in ((await config(client, 'version'))[0] ?? {})).toBe(
      version === '5.0' || version === '6.0',
    );
    const status = await admin.command({ balancerCollectionStatus: 'shop.orders' });
    expect(status.chunkSize).toBe(version === '5.0' ? undefined : 128);
  });

  it.each([
    ['4.4', 9, '4.4.29'],
    ['5.0', 13, '5.0.7'],
    ['6.0', 17, '6.0.14'],
    ['7.0', 21, '7.0.16'],
    ['8.0', 25, '8.0.10'],
  ] as const)('%s says its version, wire version %i', async (version, wireVersion, text) => {
    const client = await clusterOf(version);
    const admin = client.db('admin');
    expect(await admin.command({ hello: 1 })).toMatchObject({ maxWireVersion: wireVersion });
    expect(await admin.command({ buildInfo: 1 })).toMatchObject({
      version: text,
      versionArray: [...text.split('.').map(Number), 0],
    });
    expect((await config(client, 'mongos'))[0]).toMatchObject({ mongoVersion: text });
  });
});
