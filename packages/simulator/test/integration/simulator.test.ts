import { MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { startCluster, startProcess, startReplicaSet } from '../../src/simulator.js';

/** What a client is told of a server that has gone: its port, or the connection that it still took, is closed. */
const gone = /ECONNREFUSED|connection .* closed/;

describe('what the package offers', () => {
  it('starts a sharded cluster, and faults of its nodes', async () => {
    await using cluster = await startCluster({ shards: 2, version: '7.0' });
    expect(cluster.shards).toHaveLength(2);
    await using client = await MongoClient.connect(cluster.connectionString);
    await client.db('shop').collection('orders').insertOne({ item: 'ink' });
    cluster.member('shard0').stepDown(60);
    expect(() => cluster.member('router0')).toThrow(RangeError);
    expect(cluster.node('router0').running).toBe(true);
    await cluster.node('router0').stop();
    expect(cluster.node('router0').running).toBe(false);
  });

  it('starts a replica set', async () => {
    await using set = await startReplicaSet({ setName: 'mine' });
    await using client = await MongoClient.connect(set.connectionString);
    expect((await client.db('admin').command({ hello: 1 }))['setName']).toBe(set.setName);
    expect(set.member.running).toBe(true);
  });

  it('ends what it has started once, however often it is asked to', async () => {
    const set = await startReplicaSet();
    await Promise.all([set.close(), set.close()]);
    await expect(MongoClient.connect(set.connectionString, { serverSelectionTimeoutMS: 3000 })).rejects.toThrow(gone);
  });
});

describe('a process of its own', () => {
  it('runs a cluster, and takes orders for faults one after the other', async () => {
    await using simulator = await startProcess({ shards: 3, version: '6.0', oplogBytesMax: 1_000_000 });
    expect(simulator.shards).toHaveLength(3);
    await using client = await MongoClient.connect(simulator.connectionString);
    expect((await client.db('admin').command({ buildInfo: 1 }))['version']).toMatch(/^6\.0\./);
    const orders = [simulator.fault({ stop: 'shard2' }), simulator.fault({ stepDown: 'router0', seconds: 1 })];
    expect((await Promise.allSettled(orders)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await expect(simulator.fault({ explode: 'shard0' })).rejects.toThrow('unknown order explode');
    const shard = `mongodb://${simulator.shards[2] ?? ''}/?directConnection=true`;
    await expect(MongoClient.connect(shard, { serverSelectionTimeoutMS: 3000 })).rejects.toThrow(gone);
  });

  it('runs a replica set with access control', async () => {
    await using simulator = await startProcess({ replicaSet: true, auth: true });
    await using client = await MongoClient.connect(simulator.connectionString);
    await expect(client.db('db').collection('c').findOne()).rejects.toMatchObject({ code: 13 });
  });

  it('refuses what the program refuses, in its words', async () => {
    await expect(startProcess({ replicaSet: true, shards: 2 })).rejects.toThrow('--replica-set starts one member');
    await expect(startProcess({ basePort: 70_000 })).rejects.toThrow('--port takes a whole number from 0 to 65535');
  });

  it('takes no orders once it has ended', async () => {
    const simulator = await startProcess({ replicaSet: true });
    await simulator.close();
    await expect(simulator.fault({ stop: 'rs0' })).rejects.toThrow('The simulator has ended.');
    expect(() => process.kill(simulator.pid, 0)).toThrow('ESRCH');
  });
});
