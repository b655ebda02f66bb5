import { MongoClient } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { startWholeCluster } from '../../../src/cluster/cluster.js';
import { startWholeReplicaSet } from '../../../src/cluster/replica-set.js';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

describe('feature compatibility version', () => {
  it('is set through a router for all nodes, to that of the release or the one before', async () => {
    const cluster = await startWholeCluster({ shards: 1, version: '6.0' });
    const client = await new MongoClient(cluster.connectionString).connect();
    const shard = await new MongoClient(`mongodb://${cluster.shards[0] ?? ''}/?directConnection=true`).connect();
    closers.push(
      () => cluster.close(),
      () => client.close(),
      () => shard.close(),
    );
    const asked = { getParameter: 1, featureCompatibilityVersion: 1 };
    expect(await shard.db('admin').command(asked)).toMatchObject({ featureCompatibilityVersion: { version: '6.0' } });
    await client.db('admin').command({ setFeatureCompatibilityVersion: '5.0' });
    expect(await shard.db('admin').command(asked)).toMatchObject({ featureCompatibilityVersion: { version: '5.0' } });
    await expect(client.db('admin').command({ setFeatureCompatibilityVersion: '4.4' })).rejects.toMatchObject({
      code: 4926900,
    });
    await expect(
      client.db('admin').command({ setFeatureCompatibilityVersion: '6.0', confirm: true }),
    ).rejects.toMatchObject({ code: 40415, codeName: 'Location40415' });
  });

  it('wants to be confirmed from 7.0 on', async () => {
    const set = await startWholeReplicaSet({ version: '7.0' });
    const client = await new MongoClient(set.connectionString).connect();
    closers.push(
      () => set.close(),
      () => client.close(),
    );
    const admin = client.db('admin');
    await expect(admin.command({ setFeatureCompatibilityVersion: '6.0' })).rejects.toMatchObject({ code: 7369100 });
    await admin.command({ setFeatureCompatibilityVersion: '6.0', confirm: true });
    expect(await admin.command({ getParameter: 1, featureCompatibilityVersion: 1 })).toMatchObject({
      featureCompatibilityVersion: { version: '6.0' },
    });
  });
});
