import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startWholeCluster } from '../../../src/cluster/cluster.js';

const root = { user: 'root', password: 'secret of the root', roles: ['root'] };

describe('logging in with the official driver', () => {
  let cluster: Cluster;
  const clients: MongoClient[] = [];

  async function connect(host: string, options: Record<string, unknown> = {}): Promise<MongoClient> {
    const client = new MongoClient(`mongodb://${host}/`, { directConnection: true, ...options });
    clients.push(client);
    return client.connect();
  }

  beforeAll(async () => {
    cluster = await startWholeCluster({
      shards: 1,
      auth: { users: [root], shardUsers: [{ ...root, user: 'shardRoot' }] },
    });
  });

  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await cluster.close();
  });

  it.each(['SCRAM-SHA-256', 'SCRAM-SHA-1', 'DEFAULT'] as const)(
    '%s: the right password opens everything',
    async (authMechanism) => {
      const client = await connect(cluster.router, {
        auth: { username: root.user, password: root.password },
        authMechanism,
      });
      await client.db('appdb').collection('c').insertOne({ a: 1 });
      const status = await client.db('admin').command({ connectionStatus: 1 });
      expect(status['authInfo']).toMatchObject({ authenticatedUsers: [{ user: 'root', db: 'admin' }] });
    },
  );

  it.each(['SCRAM-SHA-256', 'SCRAM-SHA-1'] as const)(
    '%s: a wrong password and an unknown user are told apart by nobody',
    async (authMechanism) => {
      for (const username of ['root', 'nobody']) {
        const failed = connect(cluster.router, { auth: { username, password: 'wrong' }, authMechanism });
        await expect(failed).rejects.toMatchObject({
          code: 18,
          codeName: 'AuthenticationFailed',
          errmsg: 'Authentication failed.',
        });
      }
    },
  );

  it('users of the cluster are unknown to a shard, and the other way round', async () => {
    const [shard = ''] = cluster.shards;
    const auth = { username: root.user, password: root.password };
    await expect(connect(shard, { auth })).rejects.toMatchObject({ code: 18 });
    await expect(connect(cluster.router, { auth: { ...auth, username: 'shardRoot' } })).rejects.toMatchObject({
      code: 18,
    });
    const client = await connect(shard, { auth: { ...auth, username: 'shardRoot' } });
    expect(await client.db('admin').command({ listDatabases: 1 })).toMatchObject({ ok: 1 });
  });

  it('without a login almost nothing works', async () => {
    const client = await connect(cluster.router);
    await expect(client.db('appdb').collection('c').findOne()).rejects.toMatchObject({
      code: 13,
      codeName: 'Unauthorized',
      errmsg: 'Command find requires authentication',
    });
    expect(await client.db('admin').command({ ping: 1 })).toMatchObject({ ok: 1 });
  });

  it('a user can be made, changed, used and dropped', async () => {
    const admin = (await connect(cluster.router, { auth: { username: root.user, password: root.password } })).db(
      'admin',
    );
    await admin.command({ createUser: 'made', pwd: 'one', roles: [{ role: 'readWrite', db: 'x' }] });
    await expect(admin.command({ createUser: 'made', pwd: 'one', roles: [] })).rejects.toMatchObject({ code: 51003 });
    await admin.command({ updateUser: 'made', pwd: 'two' });
    await expect(connect(cluster.router, { auth: { username: 'made', password: 'one' } })).rejects.toMatchObject({
      code: 18,
    });
    const made = await connect(cluster.router, { auth: { username: 'made', password: 'two' } });
    await made.db('x').collection('c').insertOne({});
    await expect(made.db('y').collection('c').insertOne({})).rejects.toMatchObject({ code: 13 });
    await admin.command({ grantRolesToUser: 'made', roles: [{ role: 'readWrite', db: 'y' }] });
    await made.db('y').collection('c').insertOne({});
    await admin.command({ dropUser: 'made' });
    await expect(made.db('x').collection('c').findOne()).rejects.toMatchObject({
      code: 13,
      errmsg: 'Command find requires authentication',
    });
    await expect(admin.command({ dropUser: 'made' })).rejects.toMatchObject({ code: 11 });
  });
});
