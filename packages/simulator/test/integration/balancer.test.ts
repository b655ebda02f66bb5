import { type Document, MongoClient, Timestamp } from 'mongodb';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Cluster, type ClusterOptions, startWholeCluster } from '../../src/cluster/cluster.js';

/** Until 5.0 chunks are counted, later bytes. */
const releases = ['5.0', '8.0'] as const;
const pad = 'x'.repeat(100_000);

describe('the balancer', () => {
  let cluster: Cluster;
  let client: MongoClient;

  afterEach(async () => {
    await client.close();
    await cluster.close();
  });

  async function start(options: Partial<ClusterOptions> = {}): Promise<void> {
    cluster = await startWholeCluster({ shards: 2, noopIntervalMs: 50, balancerRoundMs: 0, ...options });
    client = await MongoClient.connect(cluster.connectionString);
    await client.db('admin').command({ enableSharding: 'db', primaryShard: 'shard0' });
  }

  /** Chunks of a megabyte at most, and since 6.0 what is balanced differs by three of them. */
  async function limitChunks(): Promise<void> {
    await client
      .db('config')
      .collection('settings')
      .insertOne({ _id: 'chunksize' as never, value: 1 });
  }

  /** @param pad makes documents large */
  async function sharded(name: string, chunks: number, pad = ''): Promise<void> {
    await client.db('admin').command({ shardCollection: `db.${name}`, key: { k: 1 } });
    for (let k = 1; k < chunks; k += 1)
      await client.db('admin').command({ split: `db.${name}`, middle: { k: k * 10 } });
    await client
      .db('db')
      .collection(name)
      .insertMany(Array.from({ length: chunks * 10 }, (_, k) => ({ k, pad })));
  }

  function owners(name: string): string[] {
    return cluster.catalog.sharded(`db.${name}`).chunks.chunks.map(({ shard }) => shard);
  }

  it('moves chunks round by round until they are balanced, and reports it, before 6.0', async () => {
    await start({ version: '5.0' });
    await sharded('c', 4);
    const status = (): Promise<Document> => client.db('admin').command({ balancerCollectionStatus: 'db.c' });
    expect(await status()).toMatchObject({ balancerCompliant: false, firstComplianceViolation: 'chunksImbalance' });
    expect(await cluster.balancer.round()).toBe(1);
    expect(await cluster.balancer.round()).toBe(1);
    expect(await cluster.balancer.round()).toBe(0);
    expect(owners('c').filter((shard) => shard === 'shard0')).toHaveLength(2);
    expect(await status()).toMatchObject({ balancerCompliant: true });
    expect(await client.db('db').collection('c').countDocuments()).toBe(40);
    expect(await client.db('admin').command({ balancerStatus: 1 })).toMatchObject({
      mode: 'full',
      inBalancerRound: false,
    });
  });

  it.each(releases)('makes rounds by itself: %s', async (version) => {
    await start({ version, balancerRoundMs: 20 });
    await limitChunks();
    await sharded('c', 4, pad);
    await vi.waitFor(() => expect(new Set(owners('c'))).toEqual(new Set(['shard0', 'shard1'])), {
      timeout: 30_000,
      interval: 10,
    });
  });

  it.each(releases)('rests when it is off, outside of its window and for exempt collections: %s', async (version) => {
    await start({ version });
    await limitChunks();
    await sharded('c', 4, pad);
    const settings = client.db('config').collection('settings');
    await client.db('admin').command({ balancerStop: 1 });
    expect(await cluster.balancer.round()).toBe(0);
    await client.db('admin').command({ balancerStart: 1 });
    const minute = (offset: number): string => new Date(Date.now() + offset * 60_000).toTimeString().slice(0, 5);
    await settings.updateOne(
      { _id: 'balancer' as never },
      { $set: { activeWindow: { start: minute(60), stop: minute(120) } } },
    );
    expect(await cluster.balancer.round()).toBe(0);
    await settings.updateOne({ _id: 'balancer' as never }, { $unset: { activeWindow: '' } });
    await client
      .db('config')
      .collection('collections')
      .updateOne({ _id: 'db.c' as never }, { $set: { noBalance: true } });
    expect(await cluster.balancer.round()).toBe(0);
    await client
      .db('config')
      .collection('collections')
      .updateOne({ _id: 'db.c' as never }, { $set: { noBalance: false } });
    expect(await cluster.balancer.round()).toBe(1);
  });

  it('goes by zones, splitting where they end', async () => {
    await start();
    await sharded('c', 1);
    await client.db('admin').command({ addShardToZone: 'shard1', zone: 'z' });
    await client.db('admin').command({ updateZoneKeyRange: 'db.c', min: { k: 3 }, max: { k: 6 }, zone: 'z' });
    while ((await cluster.balancer.round()) > 0);
    const direct = await MongoClient.connect(`mongodb://${cluster.shards[1] ?? ''}/?directConnection=true`);
    const ks = (await direct.db('db').collection('c').find().toArray()).map((document) => document['k'] as number);
    await direct.close();
    expect(ks).toEqual(expect.arrayContaining([3, 4, 5]));
  });

  it('calls a chunk jumbo that is too large to move, until the flag is cleared, before 6.0', async () => {
    await start({ version: '5.0' });
    await sharded('c', 2);
    const settings = client.db('config').collection('settings');
    await settings.insertMany([
      { _id: 'chunksize' as never, value: 1 },
      { _id: 'autosplit' as never, enabled: false },
    ]);
    const pad = 'x'.repeat(900_000);
    await client
      .db('db')
      .collection('c')
      .insertMany([-1, -1, 11, 11].map((k) => ({ k, pad })));
    expect(await cluster.balancer.round()).toBe(0);
    const chunk = { find: { k: -1 } };
    expect(await client.db('config').collection('chunks').countDocuments({ jumbo: true })).toBe(1);
    await expect(client.db('admin').command({ moveChunk: 'db.c', ...chunk, to: 'shard1' })).rejects.toMatchObject({
      code: 153,
    });
    const newest = async () =>
      (await client.db('config').collection('chunks').find().sort({ lastmod: -1 }).limit(1).toArray())[0];
    const before = (await newest())?.lastmod as Timestamp;
    await client.db('admin').command({ clearJumboFlag: 'db.c', ...chunk });
    expect((await newest())?.lastmod).toEqual(new Timestamp({ t: before.t + 1, i: 0 }));
    expect(await client.db('config').collection('chunks').countDocuments({ jumbo: true })).toBe(0);
    await client.db('admin').command({ moveChunk: 'db.c', ...chunk, to: 'shard1', forceJumbo: true });
    expect(owners('c')).toEqual(['shard1', 'shard0']);
  });

  it('raises the version of the first chunk at a rename, and keeps ownership times (recorded)', async () => {
    await start();
    await sharded('c', 3);
    const rows = async () => {
      const found = await client.db('config').collection('chunks').find().sort({ min: 1 }).toArray();
      return found.map(({ lastmod, history }) => ({
        lastmod: lastmod as Timestamp,
        since: (history as { validAfter: Timestamp }[])[0]?.validAfter,
      }));
    };
    const before = await rows();
    const major = Math.max(...before.map(({ lastmod }) => lastmod.t));
    await client.db('admin').command({ renameCollection: 'db.c', to: 'db.d' });
    expect(await rows()).toEqual(
      before.map((row, index) => (index === 0 ? { ...row, lastmod: new Timestamp({ t: major + 1, i: 0 }) } : row)),
    );
  });

  it('splits large chunks by itself before 6.0', async () => {
    await start({ version: '5.0' });
    await client.db('admin').command({ shardCollection: 'db.c', key: { k: 1 } });
    await limitChunks();
    await client
      .db('db')
      .collection('c')
      .insertMany(Array.from({ length: 8 }, (_, k) => ({ k, pad: 'x'.repeat(500_000) })));
    while ((await cluster.balancer.round()) > 0);
    expect(owners('c').length).toBeGreaterThanOrEqual(4);
    expect(new Set(owners('c'))).toEqual(new Set(['shard0', 'shard1']));
  });

  it.each(['6.0', '8.0'] as const)('moves ranges by their bytes since 6.0: %s', async (version) => {
    await start({ version });
    await client.db('admin').command({ shardCollection: 'db.c', key: { k: 1 } });
    await limitChunks();
    const status = (): Promise<Document> => client.db('admin').command({ balancerCollectionStatus: 'db.c' });
    await client
      .db('db')
      .collection('c')
      .insertMany(Array.from({ length: 12 }, (_, k) => ({ k, pad: 'x'.repeat(500_000) })));
    expect(await status()).toMatchObject({ balancerCompliant: false, firstComplianceViolation: 'chunksImbalance' });
    expect(await cluster.balancer.round()).toBe(1);
    while ((await cluster.balancer.round()) > 0);
    const bytes = cluster.catalog.shards.map((shard) => shard.stored.collection('db.c')?.documentBytes ?? 0);
    expect(Math.min(...bytes)).toBeGreaterThan(1_000_000);
    expect(await status()).toMatchObject({ balancerCompliant: true });
  });

  it('adds a shard, and empties one that is to be removed', async () => {
    await start();
    await sharded('c', 4);
    const admin = client.db('admin');
    const added = await cluster.startShard();
    await expect(admin.command({ addShard: 'nowhere/127.0.0.1:1' })).rejects.toMatchObject({ code: 96 });
    expect(await admin.command({ addShard: added.connectionString, name: 'third' })).toMatchObject({
      shardAdded: 'third',
    });
    expect(await admin.command({ removeShard: 'shard0' })).toMatchObject({ state: 'started', dbsToMove: ['db'] });
    while ((await cluster.balancer.round()) > 0);
    expect(await admin.command({ removeShard: 'shard0' })).toMatchObject({ state: 'ongoing' });
    await admin.command({ movePrimary: 'db', to: 'third' });
    expect(await admin.command({ removeShard: 'shard0' })).toMatchObject({ state: 'completed' });
    expect((await admin.command({ listShards: 1 }))['shards']).toHaveLength(2);
    expect(await client.db('db').collection('c').countDocuments()).toBe(40);
    await admin.command({ removeShard: 'third' });
    await expect(admin.command({ removeShard: 'shard1' })).rejects.toMatchObject({ code: 20 });
  });
});
