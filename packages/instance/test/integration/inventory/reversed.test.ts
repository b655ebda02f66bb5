import { carriedKinds } from '@convoy/api/contract/carry';
import { afterEach, expect, it } from 'vitest';
import { Fixture, type Side } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import {
  actionsOf,
  type Application,
  applications,
  as,
  carried,
  inventoryOf,
  isReal,
  listed,
  logsIn,
  makeEverything,
  migrated,
} from './everything.js';

let fixture: Fixture;

afterEach(() => fixture.close());

const users = { cluster0: '8.0', cluster1: '8.0', withUsers: true } as const;
/** Simulated servers have no query settings. */
const everything = carriedKinds.filter((kind) => isReal || kind !== 'querySettings');
/** The profiler and `local` of a destination's shards are hidden behind its router. */
const isShown = (row: string): boolean => !/^(profiler|ownCollections local\.)/.test(row);

const isLeftBehind = ({ name }: { name: string }): boolean => name === 'leftBehind';

/** Changes every kind of item that is carried, after the commit. */
async function changeEverything(side: Side): Promise<void> {
  const { client } = side;
  const admin = client.db('admin');
  const [, second] = await side.shardIds();
  await admin.command({ addShardToZone: second, zone: 'ASIA' });
  const range = { min: { region: 'ASIA', n: 0 }, max: { region: 'ASIA', n: 9 } };
  await admin.command({ updateZoneKeyRange: 'shop.orders', ...range, zone: 'ASIA' });
  await admin.command({ configureCollectionBalancing: 'shop.items', chunkSize: 16, enableAutoMerger: true });
  const collections = client.db('config').collection<{ _id: string }>('collections');
  await collections.updateOne({ _id: 'shop.items' }, { $set: { noBalance: false } });
  await collections.updateOne({ _id: 'shop.orders' }, { $set: { noBalance: true } });
  await admin.command({ configureCollectionBalancing: 'shop.orders', enableAutoMerger: false });
  await client.db('shop').command({ createRole: 'packer', privileges: [], roles: ['reader'] });
  await client.db('shop').command({ createUser: 'newcomer', pwd: 'new', roles: ['packer'] });
  await admin.command({ setDefaultRWConcern: 1, defaultReadConcern: { level: 'local' } });
  await admin.command({ setClusterParameter: { defaultMaxTimeMS: { readOperations: 44_000 } } });
  await admin.collection('memo').insertOne({ n: 1 });
  if (!isReal) return;
  await admin.command({
    setClusterParameter: { changeStreamOptions: { preAndPostImages: { expireAfterSeconds: 200 } } },
  });
  await admin.command({
    setQuerySettings: { find: 'items', filter: { sku: 1 }, $db: 'shop' },
    settings: { indexHints: { ns: { db: 'shop', coll: 'items' }, allowedIndexes: ['sku_1'] } },
  });
}

it('between sharded clusters a reverse takes back what the other cluster has by then', async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, users);
  const { cluster0, cluster1 } = fixture;
  await makeEverything(cluster0, { shards: 2 }, 40);
  await using instance = await fixture.startInstance();
  await instance.migrate(startBody({ carry: everything, enableUserWriteBlocking: true, reversible: true }));
  await changeEverything(cluster1);
  const ofOrders = carried.settings.filter((name) => name.startsWith('querySettings'));
  const added = (outcome: string, names: readonly string[], name: string): string[] =>
    [...names, name].sort().map((each) => `${each}: ${each === name ? outcome : 'equal'}`);
  const tableWith = (outcome: 'carried' | 'equal'): string[] => [
    ...as('equal', ['zones shop.events']),
    ...as(outcome, ['zones shop.orders', 'zones zone ASIA']),
    ...as('equal', ['zones zone EU', 'zones zone US']),
    ...as(outcome, ['balancing shop.items', 'balancing shop.orders']),
    ...added(outcome, carried.users, 'users newcomer@shop'),
    ...added(outcome, carried.roles, 'roles packer@shop'),
    ...as(outcome, ['defaultConcerns defaultReadConcern']),
    ...as('equal', ['defaultConcerns defaultWriteConcern']),
    ...as(
      outcome,
      carried.settings.filter((name) => name.startsWith('clusterParameters')),
    ),
    ...(ofOrders.length === 0 ? [] : as(outcome, ['querySettings shop.items'])),
    ...as('equal', ofOrders),
    'ownCollections admin.memo: leftBehind',
    ...as('kept', [...listed.ownCollections, ...listed.balancer]),
    'balancer mode: own',
    ...as('kept', listed.ofCluster),
    'primaries shop: own',
    ...as('equal', migrated),
  ];
  const { reverse } = await inventoryOf(instance);
  expect(actionsOf(reverse ?? { rows: [] }).filter(isShown)).toEqual(tableWith('carried'));
  await instance.accepted('reverse');
  const { warnings } = await instance.untilCanCommit();
  expect(warnings?.find(isLeftBehind)?.description).toContain('ownCollections admin.memo');
  expect(actionsOf(await inventoryOf(instance)).filter(isShown)).toEqual(tableWith('carried'));
  await instance.commitWhenOffered();
  expect(actionsOf(await inventoryOf(instance)).filter(isShown)).toEqual(tableWith('equal'));
  const collections = cluster0.client.db('config').collection<{ _id: string }>('collections');
  expect(await collections.findOne({ _id: 'shop.items' })).toMatchObject({ noBalance: false, enableAutoMerge: true });
  expect(await collections.findOne({ _id: 'shop.orders' })).toMatchObject({ noBalance: true, enableAutoMerge: false });
  expect(await cluster0.client.db('config').collection('tags').countDocuments({ tag: 'ASIA' })).toBe(1);
  expect(await cluster0.client.db('admin').command({ getDefaultRWConcern: 1 })).toMatchObject({
    defaultReadConcern: { level: 'local' },
    defaultWriteConcern: { w: 1 },
  });
  for (const application of applications) expect(await logsIn(cluster0, application)).toBe(true);
}, 600_000);

it('replica sets get users, roles and settings in both directions, but never the own users', async () => {
  fixture = await Fixture.open('replicaSet', 'replicaSet', users);
  const { cluster0, cluster1 } = fixture;
  await makeEverything(cluster0, 'replicaSet', 1);
  // Convoy logs in as it, on this cluster alone.
  const pwd = 'secret';
  await cluster0.client.db('admin').command({ createUser: 'mover', pwd, roles: ['root'] });
  const url = new URL(cluster0.connectionString);
  url.username = 'mover';
  await cluster1.client.db('shop').command({ createUser: 'clerk', pwd: 'another', roles: ['read'] });
  await using instance = await fixture.startInstance({ cluster0: url.href });
  const carry = everything.filter((kind) => kind !== 'zones' && kind !== 'balancing');
  await instance.accepted('start', startBody({ carry, enableUserWriteBlocking: true, reversible: true }));
  const { warnings } = await instance.untilCanCommit();
  expect(warnings?.find(isLeftBehind)?.description).toContain('users clerk@shop');
  await instance.commitWhenOffered();
  const committed = await inventoryOf(instance);
  expect(actionsOf(committed)).toEqual([
    ...carried.users.flatMap((name) => as(name === 'users clerk@shop' ? 'differs' : 'equal', [name])),
    ...as('equal', [...carried.roles, ...carried.settings]),
    ...as('leftBehind', [...listed.ownCollections, ...listed.local, ...listed.profiler]),
    ...as('equal', migrated),
  ]);
  const usersOf = ({ client }: Side) => client.db('admin').collection('system.users');
  expect(await usersOf(cluster1).countDocuments({ user: 'mover' })).toBe(0);
  const clerk = ({ user }: Application): boolean => user === 'clerk';
  for (const application of applications.filter((each) => !clerk(each)))
    expect(await logsIn(cluster1, application)).toBe(true);
  for (const application of applications.filter(clerk))
    await expect(logsIn(cluster1, application)).rejects.toMatchObject({ code: 18 });
  // Its default write concern is now that of the source, while the inventory has what a majority has.
  const writeConcern = { w: 'majority' };
  await cluster1.client.db('shop').command({ createUser: 'newcomer', pwd: 'x', roles: ['reader'], writeConcern });
  const back = (await inventoryOf(instance)).reverse;
  expect(actionsOf(back ?? { rows: [] })).toContain('users newcomer@shop: carried');
  await instance.accepted('reverse');
  await instance.untilCanCommit();
  await instance.commitWhenOffered();
  expect(await usersOf(cluster0).countDocuments({ user: 'newcomer' })).toBe(1);
  for (const application of applications) expect(await logsIn(cluster0, application)).toBe(true);
}, 600_000);

it('what an older former source does not have stays behind by name, and no commit waits for it', async (context) => {
  // Real servers of the tests have one release.
  if (isReal) context.skip();
  fixture = await Fixture.open('replicaSet', 'replicaSet', { cluster0: '7.0', cluster1: '8.0', withUsers: true });
  const { cluster0, cluster1 } = fixture;
  await cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  await using instance = await fixture.startInstance();
  const carry = ['clusterParameters', 'defaultConcerns', 'usersAndRoles'];
  await instance.migrate(startBody({ carry, enableUserWriteBlocking: true, reversible: true }));
  const admin = cluster1.client.db('admin');
  await admin.command({ setClusterParameter: { defaultMaxTimeMS: { readOperations: 55_000 } } });
  await admin.command({ setDefaultRWConcern: 1, defaultReadConcern: { level: 'majority' } });
  const { reverse } = await inventoryOf(instance);
  const settings = reverse?.rows.filter(({ kind }) => kind !== 'users') ?? [];
  expect(settings.map(({ name, action, description }) => [name, action, description])).toEqual([
    ['defaultReadConcern', 'carried', 'The commit carries it.'],
    ['defaultMaxTimeMS', 'leftBehind', expect.stringContaining('cluster0 does not have defaultMaxTimeMS') as unknown],
  ]);
  await instance.accepted('reverse');
  const { warnings } = await instance.untilCanCommit();
  expect(warnings?.find(isLeftBehind)?.description).toContain('defaultMaxTimeMS');
  await instance.commitWhenOffered();
  expect(await cluster0.client.db('admin').command({ getDefaultRWConcern: 1 })).toMatchObject({
    defaultReadConcern: { level: 'majority' },
  });
}, 300_000);
