import type { Document } from 'mongodb';
import { BSON, Long, Timestamp } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { makeItem } from '../../../src/inventory/make-item.js';
import type { Item } from '../../../src/inventory/item.js';
import { readRoles, readUsers } from '../../../src/inventory/read/access.js';
import { readClusterParameters, readQuerySettings } from '../../../src/inventory/read/cluster-settings.js';
import { readLocalOfShards, readOwnCollections } from '../../../src/inventory/read/collections.js';
import { readBalancerSettings } from '../../../src/inventory/read/sharding-settings.js';
import { fakeCluster, FakeNodeClient, type Handler } from '../fake-node-client.js';

const { signal } = new AbortController();

/** A cluster whose router answers these commands. */
const clusterWith = (answers: Record<string, Handler>, version: [number, number, number] = [8, 0, 10]) =>
  fakeCluster({ router: new FakeNodeClient('router', answers), version });

/** A cluster with collections, each by its name. */
const clusterOf = (collections: Record<string, Document[]>, version?: [number, number, number]) =>
  clusterWith({ find: (_, { find }) => ({ cursor: { firstBatch: collections[String(find)] ?? [] } }) }, version);

const scopes = (items: readonly Item[]): [string, Item['scope']][] => items.map(({ name, scope }) => [name, scope]);

const role = (name: string, db: string, privileges: Document[], roles: Document[] = []): Document => ({
  _id: `${db}.${name}`,
  role: name,
  db,
  privileges: privileges.map((resource) => ({ resource, actions: ['find'] })),
  roles,
});

const user = (name: string, db: string, roles: Document[]): Document => ({
  _id: `${db}.${name}`,
  user: name,
  db,
  roles,
});

describe('users and roles belong to the databases that they give access to', () => {
  const roles = [
    role('deep', 'admin', [{ db: 'shop', collection: 'orders' }], [{ role: 'wide', db: 'admin' }]),
    role('wide', 'admin', [], [{ role: 'read', db: 'audit' }]),
    role('anywhere', 'admin', [{ db: '', collection: 'orders' }]),
    role('buckets', 'admin', [{ db: '', system_buckets: 'weather' }]),
    role('ofCluster', 'admin', [{ cluster: true }]),
    role('nothing', 'shop', []),
    // Servers refuse a cycle; a document that somebody has written may have one.
    role('ring', 'shop', [{ db: 'shop', collection: '' }], [{ role: 'ring', db: 'shop' }]),
  ];
  const whole = { of: 'cluster' };
  const of = (...databases: string[]) => ({ of: 'databases', databases });

  it('through the roles that they inherit, also of other databases', async () => {
    expect(scopes(await readRoles(clusterOf({ 'system.roles': roles }), signal))).toEqual([
      ['deep@admin', of('audit', 'shop')],
      ['wide@admin', of('audit')],
      ['anywhere@admin', whole],
      ['buckets@admin', whole],
      ['ofCluster@admin', whole],
      ['nothing@shop', of()],
      ['ring@shop', of('shop')],
    ]);
  });

  it('a user through its roles, of which one that nobody has made belongs to the whole cluster', async () => {
    const users = [
      user('CN=robot,O=shop', '$external', [{ role: 'deep', db: 'admin' }]),
      user('none', 'shop', []),
      user('own', 'shop', [{ role: 'readWrite', db: 'shop' }]),
      user('all', 'admin', [{ role: 'readWrite', db: 'admin' }]),
      user('lost', 'shop', [{ role: 'dropped', db: 'shop' }]),
    ];
    expect(scopes(await readUsers(clusterOf({ 'system.users': users, 'system.roles': roles }), signal))).toEqual([
      ['CN=robot,O=shop@$external', of('audit', 'shop')],
      ['none@shop', of()],
      ['own@shop', of('shop')],
      ['all@admin', whole],
      ['lost@shop', whole],
    ]);
  });

  it('equal in any order of fields and roles, whatever id the server gave; other credentials differ', async () => {
    const [a, b] = [
      { role: 'a', db: 'shop' },
      { role: 'b', db: 'shop' },
    ];
    const users = [
      { _id: 'shop.x', userId: 1, user: 'x', db: 'shop', credentials: { 'SCRAM-SHA-1': { salt: 's' } }, roles: [a, b] },
      { _id: 'shop.x', roles: [b, a], credentials: { 'SCRAM-SHA-1': { salt: 's' } }, user: 'x', db: 'shop' },
      { _id: 'shop.x', user: 'x', db: 'shop', credentials: { 'SCRAM-SHA-1': { salt: 't' } }, roles: [a, b] },
    ];
    const found = await readUsers(clusterOf({ 'system.users': users }), signal);
    const [first, second, third] = found.map(({ content }) => content);
    expect(first).toBe(second);
    expect(first).not.toBe(third);
    expect(found[0]?.shown).toBe('roles a@shop, b@shop');
  });
});

describe('settings of a cluster', () => {
  it('of cluster parameters, those that somebody has set, and none that servers keep for themselves', async () => {
    const [since, never] = [new Timestamp({ t: 7, i: 1 }), new Timestamp({ t: 0, i: 0 })];
    const clusterParameters = [
      { _id: 'defaultMaxTimeMS', clusterParameterTime: since, readOperations: 5 },
      { _id: 'changeStreamOptions', clusterParameterTime: never, preAndPostImages: { expireAfterSeconds: 'off' } },
      { _id: 'shardedClusterCardinalityForDirectConns', clusterParameterTime: since, hasTwoOrMoreShards: true },
      { _id: 'auditConfig', clusterParameterTime: since, filter: { user: 'somebody' } },
    ];
    const cluster = clusterWith({ getClusterParameter: () => ({ clusterParameters }) });
    const { names, items } = await readClusterParameters(cluster, signal);
    expect([...names]).toEqual(clusterParameters.map(({ _id }) => _id));
    expect(items.map(({ name, shown }) => [name, shown])).toEqual([
      ['defaultMaxTimeMS', '{"readOperations":5}'],
      ['auditConfig', 'set'],
    ]);
  });

  it('query settings of every shape; one without its query cannot be set again', async () => {
    const queryShapeHash = 'A'.repeat(64);
    const settings = { reject: true };
    const rows = [
      {
        queryShapeHash,
        settings,
        representativeQuery: { find: 'orders', filter: { n: Long.fromInt(1) }, $db: 'shop' },
      },
      { queryShapeHash, settings, representativeQuery: { distinct: 'orders', key: 'n', $db: 'shop' } },
      { queryShapeHash, settings, representativeQuery: { aggregate: 'orders', pipeline: [], $db: 'shop' } },
      { queryShapeHash, settings, representativeQuery: { aggregate: 1, pipeline: [], $db: 'admin' } },
      { queryShapeHash, settings },
    ];
    const cluster = clusterWith({ aggregate: () => ({ cursor: { firstBatch: rows } }) });
    const found = await readQuerySettings(cluster, signal);
    expect(found.map(({ name, payload }) => [name.split(' ')[0], payload === null])).toEqual([
      ['shop.orders', false],
      ['shop.orders', false],
      ['shop.orders', false],
      ['query', false],
      ['query', true],
    ]);
  });

  it('query settings that differ in the type of a number are not equal, and are made with it', async () => {
    const contentOf = async (since: unknown): Promise<{ content: string; made: Document }> => {
      const settings = { comment: { since } };
      const row = { queryShapeHash: 'A'.repeat(64), settings, representativeQuery: { find: 'orders', $db: 'shop' } };
      const [item] = await readQuerySettings(
        clusterWith({ aggregate: () => ({ cursor: { firstBatch: [row] } }) }),
        signal,
      );
      if (item?.payload?.type !== 'querySettings') throw new Error('There are no query settings.');
      const router = new FakeNodeClient('router', { setQuerySettings: () => ({}) });
      await makeItem(fakeCluster({ router }), item.payload, signal);
      const { given } = router.sent[0] ?? { given: {} };
      return { content: item.content, made: BSON.deserialize(BSON.serialize(given), { promoteLongs: false }) };
    };
    const [long, int] = [await contentOf(Long.fromInt(8)), await contentOf(8)];
    expect(long.content).not.toBe(int.content);
    expect(long.made).toMatchObject({ settings: { comment: { since: Long.fromInt(8) } } });
    expect(int.made).toMatchObject({ settings: { comment: { since: 8 } } });
  });

  it.each([
    [
      [5, 0, 7],
      ['mode', 'activeWindow', 'attemptToBalanceJumboChunks', 'autosplit', 'chunksize'],
    ],
    [
      [8, 0, 10],
      ['mode', 'activeWindow', 'attemptToBalanceJumboChunks', 'chunksize'],
    ],
  ] as const)('of a balancer of %j, what somebody has set', async ([major, minor, patch], names) => {
    const settings = [
      { _id: 'balancer', activeWindow: { start: '23:00', stop: '5:00' }, attemptToBalanceJumboChunks: true },
      { _id: 'autosplit', enabled: false },
      { _id: 'chunksize', value: 64 },
    ];
    const cluster = clusterOf({ settings }, [major, minor, patch]);
    expect((await readBalancerSettings(cluster, null, signal)).map(({ name }) => name)).toEqual(names);
  });
});

it('collections of users in the databases of servers, on a replica set and on shards also in local', async () => {
  const listed: Record<string, string[]> = {
    admin: ['system.users', 'system.js', 'notes'],
    config: ['chunks', 'cache.chunks.shop.orders', 'system.sessions', 'notes'],
    local: ['oplog.rs', 'replset.minvalid', 'startup_log', 'notes'],
  };
  const answers: Record<string, Handler> = {
    listCollections: (database) => ({
      cursor: {
        firstBatch: (listed[database] ?? []).map((name) => ({ name, type: 'collection', options: {}, info: {} })),
      },
    }),
  };
  const shard = new FakeNodeClient('shard0', answers);
  const shards = new Map([['shard0', shard]]);
  const direct = fakeCluster({ router: new FakeNodeClient('router', answers), shards, shardIds: ['shard0'] });
  const ofShards = (await readLocalOfShards(direct, signal)).map(({ name }) => name);
  expect(ofShards).toEqual(['local.notes on shard0']);
  expect(await readLocalOfShards(clusterWith(answers), signal)).toEqual([]);
  const shown = async (kind: 'sharded' | 'replicaSet'): Promise<string[]> =>
    (await readOwnCollections({ ...clusterWith(answers), kind }, signal)).map(({ name }) => name);
  const ofRouters = ['admin.notes', 'admin.system.js', 'config.notes'];
  expect(await shown('sharded')).toEqual(ofRouters);
  expect(await shown('replicaSet')).toEqual([...ofRouters, 'local.notes']);
});
