import { MongoClient, type MongoClientOptions, ReadPreference } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ReplicaSet, startWholeReplicaSet } from '../../../src/cluster/replica-set.js';
import { DrivenCluster } from './driven-cluster.js';

describe('how the official driver connects', () => {
  let driven: DrivenCluster;
  let set: ReplicaSet;

  beforeAll(async () => {
    driven = await DrivenCluster.start({ routers: 2 });
    set = await startWholeReplicaSet({ noopIntervalMs: 50 });
    for (const uri of [driven.cluster.connectionString, set.connectionString]) {
      await using client = await MongoClient.connect(uri);
      await client.db('topology').collection('c').insertOne({});
    }
  });
  afterAll(async () => {
    await driven[Symbol.asyncDispose]();
    await set.close();
  });

  /** Runs one insert and one find, and gives the type of topology that the driver saw. */
  async function used(uri: string, options: MongoClientOptions = {}): Promise<string> {
    await using client = new MongoClient(uri, options);
    let type = '';
    client.on('topologyDescriptionChanged', ({ newDescription }) => (type = newDescription.type));
    const collection = client.db('topology').collection('c');
    await collection.insertOne({});
    expect(await collection.findOne()).not.toBeNull();
    return type;
  }

  it('to one router, to several, and to a replica set by its name', async () => {
    const { routers, connectionString } = driven.cluster;
    expect(await used(connectionString)).toBe('Sharded');
    expect(await used(`mongodb://${routers.join(',')}`)).toBe('Sharded');
    expect(await used(set.connectionString)).toBe('ReplicaSetWithPrimary');
    expect(await used(`mongodb://${set.host}/?directConnection=true`)).toBe('Single');
    expect(await used(`mongodb://${set.host}/?directConnection=false`)).toBe('ReplicaSetWithPrimary');
  });

  it('to one shard directly, and to it as the replica set that it is', async () => {
    const [shard = ''] = driven.cluster.shards;
    await using direct = await MongoClient.connect(`mongodb://${shard}/?directConnection=true`);
    expect(await direct.db('admin').command({ hello: 1 })).toMatchObject({
      setName: 's0',
      isWritablePrimary: true,
      hosts: [shard],
    });
    expect(await used(`mongodb://${shard}/?replicaSet=s0`)).toBe('ReplicaSetWithPrimary');
  });

  it('refuses a wrong set name, and nodes that are not behind a load balancer', async () => {
    await expect(used(`mongodb://${set.host}/?replicaSet=other`, { serverSelectionTimeoutMS: 3_000 })).rejects.toThrow(
      /other|selection/i,
    );
    await expect(used(`mongodb://${driven.cluster.router}/?loadBalanced=true`)).rejects.toThrow(/load balanc/i);
  });

  it.each(['zlib', 'none'] as const)('with compressor %s', async (compressor) => {
    await using client = await MongoClient.connect(driven.cluster.connectionString, {
      compressors: [compressor],
      zlibCompressionLevel: 6,
    });
    const collection = client.db('topology').collection<{ _id: number; text: string }>(`packed_${compressor}`);
    await collection.insertMany(Array.from({ length: 200 }, (_, _id) => ({ _id, text: 'x'.repeat(1_000) })));
    expect((await collection.find({}, { batchSize: 50 }).toArray()).every(({ text }) => text.length === 1_000)).toBe(
      true,
    );
    expect((await client.db('admin').command({ hello: 1, compression: [compressor] }))['compression']).toEqual(
      compressor === 'zlib' ? ['zlib'] : undefined,
    );
  });

  it('reads by every read preference that its only members can serve', async () => {
    await using client = await MongoClient.connect(set.connectionString);
    const db = client.db('topology');
    for (const mode of ['primary', 'primaryPreferred', 'secondaryPreferred', 'nearest'] as const) {
      expect(await db.collection('c').countDocuments({}, { readPreference: mode })).toBeGreaterThan(0);
    }
    await using impatient = new MongoClient(set.connectionString, { serverSelectionTimeoutMS: 300 });
    await expect(
      impatient.db('topology').collection('c').findOne({}, { readPreference: ReadPreference.secondary }),
    ).rejects.toThrow(/selection/i);
    await using routed = await MongoClient.connect(driven.cluster.connectionString, {
      readPreference: 'secondaryPreferred',
    });
    expect(await routed.db('topology').collection('c').countDocuments()).toBeGreaterThan(0);
  });

  it('writes and reads by every concern that one member can meet', async () => {
    await using client = await MongoClient.connect(driven.cluster.connectionString);
    const db = client.db('topology');
    for (const writeConcern of [
      { w: 1 },
      { w: 'majority', journal: true },
      { w: 'majority', wtimeoutMS: 1_000 },
    ] as const) {
      expect((await db.collection('concerns', { writeConcern }).insertOne({})).acknowledged).toBe(true);
    }
    expect((await db.collection('concerns', { writeConcern: { w: 0 } }).insertOne({})).acknowledged).toBe(false);
    for (const level of ['local', 'majority', 'available', 'linearizable'] as const) {
      expect(await db.collection('concerns', { readConcern: { level } }).find().toArray()).not.toHaveLength(0);
    }
  });

  it('follows the hello stream of a node that goes away and comes back', async () => {
    await using client = new MongoClient(set.connectionString, { heartbeatFrequencyMS: 500 });
    const streaming = new Promise<void>((resolve) =>
      client.on('serverHeartbeatStarted', ({ awaited }) => awaited && resolve()),
    );
    await client.connect();
    await streaming;
    const lost = new Promise((resolve) => client.once('serverHeartbeatFailed', resolve));
    set.member.server.dropConnections();
    await lost;
    expect(await client.db('topology').collection('c').countDocuments()).toBeGreaterThan(0);
  });
});
