import { carriedKinds } from '@convoy/api/contract/carry';
import { afterEach, expect, it } from 'vitest';
import { Fixture, type Side } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import {
  actionsOf,
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
/** The profiler of a destination is hidden behind its router. */
const isShown = (row: string): boolean => !row.startsWith('profiler');

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
  const [auditor, clerk, app] = carried.users;
  const [desk, reader] = carried.roles;
  const [ofOrders] = carried.settings.filter((name) => name.startsWith('querySettings'));
  const tableWith = (outcome: 'carried' | 'equal'): string[] => [
    ...as(outcome, ['zones shop.orders', 'zones zone ASIA']),
    ...as('equal', ['zones zone EU', 'zones zone US']),
    ...as(outcome, ['balancing shop.items', 'balancing shop.orders']),
    ...as('equal', [auditor, clerk]),
    ...as(outcome, ['users newcomer@shop']),
    ...as('equal', [app, desk]),
    ...as(outcome, ['roles packer@shop']),
    ...as('equal', [reader]),
    ...as(outcome, ['defaultConcerns defaultReadConcern']),
    ...as('equal', ['defaultConcerns defaultWriteConcern']),
    ...as(
      outcome,
      carried.settings.filter((name) => name.startsWith('clusterParameters')),
    ),
    ...(ofOrders === undefined ? [] : [...as(outcome, ['querySettings shop.items']), ...as('equal', [ofOrders])]),
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
  expect(warnings?.find(({ name }) => name === 'leftBehind')?.description).toContain('ownCollections admin.memo');
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
  expect(warnings?.find(({ name }) => name === 'leftBehind')?.description).toContain('users clerk@shop');
  await instance.commitWhenOffered();
  const committed = await inventoryOf(instance);
  const [auditor, clerk, app] = carried.users;
  expect(actionsOf(committed)).toEqual([
    ...as('equal', [auditor]),
    ...as('differs', [clerk]),
    ...as('equal', [app, ...carried.roles, ...carried.settings]),
    ...as('leftBehind', [...listed.ownCollections, 'ownCollections local.notes', ...listed.profiler]),
    ...as('equal', migrated),
  ]);
  const usersOf = ({ client }: Side) => client.db('admin').collection('system.users');
  expect(await usersOf(cluster1).countDocuments({ user: 'mover' })).toBe(0);
  expect(await logsIn(cluster1, applications[0])).toBe(true);
  await expect(logsIn(cluster1, applications[1])).rejects.toMatchObject({ code: 18 });
  await cluster1.client.db('shop').command({ createUser: 'newcomer', pwd: 'x', roles: ['reader'] });
  const back = (await inventoryOf(instance)).reverse;
  expect(actionsOf(back ?? { rows: [] })).toContain('users newcomer@shop: carried');
  await instance.accepted('reverse');
  await instance.untilCanCommit();
  await instance.commitWhenOffered();
  expect(await usersOf(cluster0).countDocuments({ user: 'newcomer' })).toBe(1);
  expect(await logsIn(cluster0, applications[1])).toBe(true);
}, 600_000);
