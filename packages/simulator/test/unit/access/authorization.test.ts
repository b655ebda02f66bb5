import { Binary, type Document, Int32, Long, MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startWholeCluster } from '../../../src/cluster/cluster.js';
import { type ReplicaSet, startWholeReplicaSet } from '../../../src/cluster/replica-set.js';
import { doc } from '../../../src/node/doc-fields.js';
import { logIn } from '../../conformance/scram-login.js';
import { WireClient } from '../../conformance/wire-client.js';

const password = 'x';
const root = { user: 'root', password, roles: ['root'] };

async function connect(host: string, username?: string): Promise<MongoClient> {
  const auth = username === undefined ? {} : { auth: { username, password } };
  return new MongoClient(`mongodb://${host}/`, { directConnection: true, ...auth }).connect();
}

describe('access control of a cluster', () => {
  let cluster: Cluster;
  const clients = new Map<string, MongoClient>();

  async function run(user: string, db: string, command: Document): Promise<Document> {
    const client = clients.get(user) ?? (await connect(cluster.router, user));
    clients.set(user, client);
    return client.db(db).command(command);
  }

  const refused = { code: 13, codeName: 'Unauthorized' };

  beforeAll(async () => {
    cluster = await startWholeCluster({ shards: 2, auth: { users: [root] } });
    for (const db of ['a', 'b']) await run('root', db, { insert: 'c', documents: [1, 2, 3].map((_id) => ({ _id })) });
    const users: [string, unknown[]][] = [
      ['readsA', [{ role: 'read', db: 'a' }]],
      ['readsAToo', [{ role: 'read', db: 'a' }]],
      ['writesA', [{ role: 'readWrite', db: 'a' }]],
      ['adminOfA', [{ role: 'dbAdmin', db: 'a' }]],
      ['ownsA', [{ role: 'dbOwner', db: 'a' }]],
      ['watches', ['clusterMonitor']],
    ];
    for (const [name, roles] of users) await run('root', 'admin', { createUser: name, pwd: password, roles });
  });

  afterAll(async () => {
    await Promise.all([...clients.values()].map((client) => client.close()));
    await cluster.close();
  });

  it.each([
    ['readsA', 'a', { find: 'c' }],
    ['readsA', 'a', { aggregate: 'c', pipeline: [{ $match: {} }], cursor: {} }],
    ['readsA', 'a', { aggregate: 'c', pipeline: [{ $changeStream: {} }], cursor: {} }],
    ['readsA', 'a', { aggregate: 1, pipeline: [{ $changeStream: {} }], cursor: {} }],
    ['readsA', 'a', { listCollections: 1 }],
    ['writesA', 'a', { update: 'c', updates: [{ q: { _id: 9 }, u: { $set: { x: 1 } }, upsert: true }] }],
    ['writesA', 'a', { aggregate: 'c', pipeline: [{ $out: 'd' }], cursor: {} }],
    ['writesA', 'a', { createIndexes: 'c', indexes: [{ key: { x: 1 }, name: 'x_1' }] }],
    ['adminOfA', 'a', { collMod: 'c', validationLevel: 'strict' }],
    ['adminOfA', 'a', { dbStats: 1 }],
    ['ownsA', 'a', { createUser: 'made', pwd: 'y', roles: ['read'] }],
    ['ownsA', 'a', { usersInfo: 1 }],
    ['watches', 'admin', { serverStatus: 1 }],
    ['watches', 'a', { usersInfo: { user: 'watches', db: 'admin' } }],
  ])('%s may, on %s: %o', async (user, db, command) => {
    expect(await run(user, db, command)).toMatchObject({ ok: 1 });
  });

  it.each([
    ['readsA', 'b', { find: 'c' }],
    ['readsA', 'a', { aggregate: 'c', pipeline: [{ $out: 'd' }], cursor: {} }],
    [
      'readsA',
      'a',
      { aggregate: 'c', pipeline: [{ $lookup: { from: { db: 'b', coll: 'c' }, pipeline: [], as: 'x' } }], cursor: {} },
    ],
    ['readsA', 'admin', { aggregate: 1, pipeline: [{ $changeStream: { allChangesForCluster: true } }], cursor: {} }],
    ['readsA', 'b', { listCollections: 1 }],
    ['readsA', 'a', { delete: 'c', deletes: [{ q: {}, limit: 0 }] }],
    ['writesA', 'a', { collMod: 'c', validationLevel: 'strict' }],
    ['writesA', 'a', { dropDatabase: 1 }],
    ['writesA', 'a', { insert: 'c', documents: [{}], bypassDocumentValidation: true }],
    ['adminOfA', 'a', { find: 'c' }],
    ['adminOfA', 'admin', { renameCollection: 'a.c', to: 'b.d' }],
    ['ownsA', 'a', { createUser: 'made2', pwd: 'y', roles: [{ role: 'read', db: 'b' }] }],
    ['ownsA', 'admin', { shardCollection: 'a.c', key: { _id: 1 } }],
    ['watches', 'admin', { setParameter: 1, logLevel: 1 }],
    ['watches', 'admin', { usersInfo: 'root' }],
  ])('%s may not, on %s: %o', async (user, db, command) => {
    await expect(run(user, db, command)).rejects.toMatchObject(refused);
  });

  it('a cursor belongs to who opened it', async () => {
    const { cursor } = await run('readsA', 'a', { find: 'c', batchSize: 1 });
    const { id } = cursor as { id: number | Long };
    const getMore = { getMore: Long.fromValue(id), collection: 'c' };
    await expect(run('readsAToo', 'a', getMore)).rejects.toMatchObject(refused);
    await expect(run('readsAToo', 'a', { killCursors: 'c', cursors: [Long.fromValue(id)] })).rejects.toMatchObject(
      refused,
    );
    expect(await run('readsA', 'a', getMore)).toMatchObject({ ok: 1 });
  });

  it('a session belongs to its user: the same id and number of another are another statement', async () => {
    const lsid = doc(['id', new Binary(Buffer.alloc(16, 7), Binary.SUBTYPE_UUID)]);
    for (const [user, id] of [
      ['writesA', 'one'],
      ['ownsA', 'two'],
      ['writesA', 'one'],
    ] as const) {
      const wire = await WireClient.connect(cluster.router);
      await logIn(wire, 'admin', user, password);
      const reply = await wire.run(
        'a',
        doc(['insert', 'sessions'], ['documents', [doc(['_id', id])]], ['lsid', lsid], ['txnNumber', Long.ONE]),
      );
      expect([reply.get('n'), reply.get('writeErrors')]).toEqual([new Int32(1), undefined]);
      wire.close();
    }
    expect(await run('root', 'a', { count: 'sessions' })).toMatchObject({ n: 2 });
  });

  it('databases and collections without rights on them are not listed', async () => {
    expect((await run('readsA', 'admin', { listDatabases: 1, nameOnly: true }))['databases']).toEqual([{ name: 'a' }]);
    await expect(run('readsA', 'admin', { listDatabases: 1, authorizedDatabases: false })).rejects.toMatchObject(
      refused,
    );
    await run('root', 'admin', {
      createRole: 'readsOne',
      privileges: [{ resource: { db: 'b', collection: 'c' }, actions: ['find'] }],
      roles: [],
    });
    await run('root', 'admin', { createUser: 'readsOne', pwd: password, roles: ['readsOne'] });
    await run('root', 'b', { create: 'hidden' });
    const { cursor } = await run('readsOne', 'b', { listCollections: 1, nameOnly: true, authorizedCollections: true });
    expect((cursor as Document)['firstBatch']).toEqual([{ name: 'c', type: 'collection' }]);
    await expect(run('readsOne', 'b', { listCollections: 1 })).rejects.toMatchObject(refused);
  });

  it('roles are made, given, inherited and dropped', async () => {
    await run('root', 'a', {
      createRole: 'inner',
      privileges: [{ resource: { db: 'b', collection: 'c' }, actions: ['find'] }],
      roles: [],
    });
    await run('root', 'admin', { createRole: 'outer', privileges: [], roles: [{ role: 'inner', db: 'a' }] });
    await run('root', 'admin', { createUser: 'inherits', pwd: password, roles: ['outer'] });
    expect(await run('inherits', 'b', { find: 'c' })).toMatchObject({ ok: 1 });
    expect((await run('root', 'admin', { rolesInfo: 'outer' }))['roles']).toEqual([
      {
        db: 'admin',
        role: 'outer',
        roles: [{ role: 'inner', db: 'a' }],
        inheritedRoles: [{ role: 'inner', db: 'a' }],
        isBuiltin: false,
        _id: 'admin.outer',
      },
    ]);
    await run('root', 'a', { dropRole: 'inner' });
    await expect(run('inherits', 'b', { find: 'c' })).rejects.toMatchObject(refused);
    await expect(run('root', 'a', { dropRole: 'inner' })).rejects.toMatchObject({ code: 31 });
    await expect(run('root', 'a', { createRole: 'read', privileges: [], roles: [] })).rejects.toMatchObject({
      code: 2,
    });
    await expect(run('root', 'a', { createUser: 'z', pwd: 'z', roles: ['none'] })).rejects.toMatchObject({
      code: 31,
      errmsg: 'Could not find role: none@a',
    });
  });

  it('users are kept as the server keeps them, and shown without their secrets', async () => {
    const { cursor } = await run('root', 'admin', { find: 'system.users', filter: { user: 'readsA' } });
    const [kept] = (cursor as { firstBatch: Document[] }).firstBatch;
    expect(Object.keys(kept ?? {})).toEqual(['_id', 'userId', 'user', 'db', 'credentials', 'roles']);
    expect(kept).toMatchObject({
      _id: 'admin.readsA',
      userId: expect.any(Binary) as Binary,
      roles: [{ role: 'read', db: 'a' }],
    });
    expect(Object.keys((kept?.['credentials'] ?? {}) as object)).toEqual(['SCRAM-SHA-1', 'SCRAM-SHA-256']);
    const { users } = await run('root', 'admin', { usersInfo: 'readsA' });
    expect(users).toEqual([
      {
        _id: 'admin.readsA',
        userId: expect.anything() as unknown,
        user: 'readsA',
        db: 'admin',
        roles: [{ role: 'read', db: 'a' }],
        mechanisms: ['SCRAM-SHA-1', 'SCRAM-SHA-256'],
      },
    ]);
  });

  it('a refusal shows the command, but no password', async () => {
    await expect(run('readsA', 'admin', { createUser: 'q', pwd: 'secret', roles: [] })).rejects.toThrow(
      /createUser: "q", pwd: "xxx", roles: \[\]/,
    );
  });
});

describe('the localhost exception', () => {
  let set: ReplicaSet;

  beforeAll(async () => {
    set = await startWholeReplicaSet({ auth: true });
  });

  afterAll(() => set.close());

  it('lets a client make the first user, and nothing else', async () => {
    const client = await connect(set.host);
    const admin = client.db('admin');
    await expect(client.db('a').collection('c').findOne()).rejects.toMatchObject({
      code: 13,
      errmsg: expect.stringMatching(/^not authorized on a to/) as string,
    });
    await admin.command({ createUser: 'first', pwd: password, roles: ['root'] });
    await expect(admin.command({ createUser: 'second', pwd: password, roles: ['root'] })).rejects.toMatchObject({
      code: 13,
      errmsg: 'Command createUser requires authentication',
    });
    await client.close();
    const first = await connect(set.host, 'first');
    expect(await first.db('admin').command({ usersInfo: 1 })).toMatchObject({ users: [{ user: 'first' }] });
    await first.close();
  });
});

describe('a shard of several that clients reach without a router', () => {
  it.each([
    ['7.0', 2, {}, {}],
    ['8.0', 2, { code: 13 }, {}],
    ['8.0', 1, {}, {}],
  ] as const)(
    '%s, one of %i: shows data to readers as to directShardOperations',
    async (version, shards, reader, withRole) => {
      const users = [
        { user: 'reads', password, roles: ['readAnyDatabase', 'clusterMonitor'] },
        { user: 'directly', password, roles: ['readAnyDatabase', 'clusterMonitor', 'directShardOperations'] },
      ];
      const cluster = await startWholeCluster({ shards, version, auth: { users: [root], shardUsers: users } });
      const made: MongoClient[] = [];
      const answerOf = async (user: string, db: string): Promise<Document> => {
        const client = await connect(cluster.shards[0] ?? '', user);
        made.push(client);
        return client
          .db(db)
          .command({ find: 'c' })
          .then(
            () => ({}),
            (error: unknown) => ({ code: (error as { code?: number }).code }),
          );
      };
      try {
        expect([
          await answerOf('reads', 'a'),
          await answerOf('directly', 'a'),
          await answerOf('reads', 'config'),
        ]).toEqual([reader, withRole, {}]);
      } finally {
        await Promise.all(made.map((client) => client.close()));
        await cluster.close();
      }
    },
  );

  it('8.0, one of 2: refuses by namespace, whatever the command', async () => {
    const users = [root, { user: 'reads', password, roles: ['readAnyDatabase', 'clusterMonitor', 'backup'] }];
    const cluster = await startWholeCluster({ shards: 2, version: '8.0', auth: { users: [root], shardUsers: users } });
    const [asReader, asRoot] = await Promise.all([
      connect(cluster.shards[0] ?? '', 'reads'),
      connect(cluster.shards[0] ?? '', 'root'),
    ]);
    const stream = { pipeline: [{ $changeStream: {} }], cursor: {} };
    const codeOf = (db: string, command: Document): Promise<unknown> =>
      asReader
        .db(db)
        .command(command)
        .then(
          () => 0,
          (error: unknown) => (error as { code?: number }).code,
        );
    try {
      await asRoot.db('a').collection('c').insertOne({ n: 1 });
      const [listed] = await asRoot.db('a').listCollections({ name: 'c' }).toArray();
      const { uuid } = (listed as { info: { uuid: Binary } }).info;
      const unknown = new Binary(Buffer.alloc(16, 7), Binary.SUBTYPE_UUID);
      const asked: [string, Document, number][] = [
        ['a', { find: 'c' }, 13],
        ['none', { find: 'none' }, 13],
        ['a', { find: uuid }, 13],
        ['a', { find: unknown }, 26],
        ['a', { listIndexes: 'c' }, 13],
        ['a', { listCollections: 1 }, 13],
        ['a', { find: 'system.js' }, 0],
        ['a', { aggregate: 'c', pipeline: [], cursor: {} }, 13],
        ['a', { aggregate: 'c', ...stream }, 0],
        ['a', { aggregate: 1, ...stream }, 0],
        ['admin', { aggregate: 1, pipeline: [{ $changeStream: { allChangesForCluster: true } }], cursor: {} }, 0],
        ['local', { find: 'oplog.rs', limit: 1 }, 0],
        ['config', { find: 'transactions', limit: 1 }, 0],
        ['config', { find: 'chunks', limit: 1 }, 13],
        ['config', { listCollections: 1 }, 0],
      ];
      const answered = await Promise.all(asked.map(([db, command]) => codeOf(db, command)));
      expect(answered).toEqual(asked.map(([, , code]) => code));
    } finally {
      await Promise.all([asReader.close(), asRoot.close()]);
      await cluster.close();
    }
  });
});
