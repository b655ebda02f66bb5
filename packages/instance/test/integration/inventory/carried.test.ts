import type { Inventory } from '@convoy/api/contract/inventory';
import { afterEach, expect, it } from 'vitest';
import { Fixture, type Shape, type Side } from '../contract/fixture.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { startBody } from '../contract/start-conditions.js';
import {
  actionsOf,
  applications,
  isReal,
  logsIn,
  makeAccess,
  makeBalancing,
  makeMigrated,
  makeSettings,
  makeZones,
  outsideOfZones,
} from './everything.js';

let fixture: Fixture;

afterEach(() => fixture.close());

const documents = 400;
const everything = [
  'zones',
  'balancing',
  'usersAndRoles',
  'defaultConcerns',
  'clusterParameters',
  'querySettings',
] as const;

const kinds = (names: readonly string[], also: readonly string[]): string[] => [...names, ...(isReal ? also : [])];

/** The rows of a source that has everything, before the commit and after it. */
const sharded = kinds(['zones shop.orders', 'zones zone EU', 'zones zone US', 'balancing shop.items'], []);
const access = [
  'users auditor@admin',
  'users clerk@shop',
  'users shop-app@admin',
  'roles desk@shop',
  'roles reader@shop',
];
const settings = kinds(
  ['defaultConcerns defaultReadConcern', 'defaultConcerns defaultWriteConcern', 'clusterParameters defaultMaxTimeMS'],
  ['clusterParameters changeStreamOptions', 'querySettings shop.orders'],
).sort(inOrder);
const left = ['ownCollections admin.notes', 'ownCollections config.notes'];
const leftSharded = ['balancer activeWindow', 'chunkSize chunksize'];
const migrated = ['preImages shop.watched', 'validators shop.checked'];

function inOrder(a: string, b: string): number {
  const order = ['defaultConcerns', 'clusterParameters', 'querySettings'];
  const rank = (text: string): number => order.indexOf(text.split(' ')[0] ?? '');
  return rank(a) - rank(b) || (a < b ? -1 : 1);
}

const as = (action: string, names: readonly string[]): string[] => names.map((name) => `${name}: ${action}`);

async function makeEverything(side: Side, shape: Shape): Promise<void> {
  if (shape !== 'replicaSet') {
    await makeZones(side, await side.shardIds(), documents);
    await makeBalancing(side);
  }
  await makeMigrated(side);
  await makeAccess(side);
  await makeSettings(side);
}

async function inventoryOf(instance: ServedInstance, query = ''): Promise<Inventory> {
  const { status, body } = await instance.request('GET', `/api/v1/inventory${query}`);
  expect({ status, success: body.success as unknown }).toEqual({ status: 200, success: true });
  return body.inventory as Inventory;
}

const readable = ({ rows }: Inventory): string[] =>
  actionsOf({ rows: rows.filter(({ action }) => action !== 'notReadable') });
const isMode = (row: string): boolean => row.startsWith('balancer mode');

it('a cluster with everything is migrated with all of it, and applications log in with their passwords', async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: '8.0', cluster1: '8.0', withUsers: true });
  const { cluster0, cluster1 } = fixture;
  await makeEverything(cluster0, { shards: 2 });
  await using instance = await fixture.startInstance();
  const carry = everything.filter((kind) => isReal || kind !== 'querySettings');
  const before = readable(await inventoryOf(instance, `?carry=${carry.join()}`)).filter((row) => !isMode(row));
  expect(before).toEqual([
    ...as('carried', [...sharded, ...access, ...settings]),
    ...as('leftBehind', [...left, ...leftSharded]),
    ...as('migrated', migrated),
  ]);
  await instance.accepted('start', startBody({ carry, enableUserWriteBlocking: true }));
  await instance.untilCanCommit();
  // Nothing of it is there before the commit, and what is added meanwhile comes along.
  expect(await cluster1.client.db('config').collection('tags').countDocuments()).toBe(0);
  expect(await cluster1.client.db('admin').collection('system.roles').countDocuments()).toBe(0);
  await cluster0.client.db('shop').command({ createUser: 'late', pwd: 'late', roles: ['reader'] });
  expect(await outsideOfZones(cluster0)).not.toEqual([]);
  await instance.commitWhenOffered();
  const after = readable(await inventoryOf(instance)).filter((row) => !isMode(row));
  expect(after).toEqual([
    ...as('equal', [...sharded, ...access.slice(0, 2), 'users late@shop', ...access.slice(2), ...settings]),
    ...as('leftBehind', [...left, ...leftSharded]),
    ...as('equal', migrated),
  ]);
  const { warnings } = await instance.progress();
  expect(warnings?.map(({ name }) => name)).toEqual(['leftBehind']);
  expect(warnings?.[0]?.description).toContain('ownCollections admin.notes');
  for (const application of applications) expect(await logsIn(cluster1, application)).toBe(true);
  await expect.poll(() => outsideOfZones(cluster1), { timeout: 240_000, interval: 1_000 }).toEqual([]);
  expect(await cluster1.client.db('shop').collection('orders').countDocuments()).toBe(documents);
}, 600_000);

it('a cluster with everything is migrated with none of it, and names what stays behind', async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: '8.0', cluster1: '8.0', withUsers: true });
  const { cluster0, cluster1 } = fixture;
  await makeEverything(cluster0, { shards: 2 });
  await using instance = await fixture.startInstance();
  const leftOver = [...sharded, ...access, ...settings];
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await instance.commitWhenOffered();
  const after = readable(await inventoryOf(instance)).filter((row) => !isMode(row));
  expect(after).toEqual([...as('leftBehind', [...leftOver, ...left, ...leftSharded]), ...as('equal', migrated)]);
  const { warnings } = await instance.progress();
  const named = warnings?.find(({ name }) => name === 'leftBehind')?.description;
  for (const name of ['zones zone EU', 'users clerk@shop', 'roles desk@shop', 'balancing shop.items'])
    expect(named).toContain(name);
  expect(await cluster1.client.db('config').collection('tags').countDocuments()).toBe(0);
  await expect(logsIn(cluster1, applications[0])).rejects.toMatchObject({ code: 18 });
}, 600_000);

it('with a filter only what belongs to it is carried', async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: '8.0', cluster1: '8.0', withUsers: true });
  const { cluster0, cluster1 } = fixture;
  await makeEverything(cluster0, { shards: 2 });
  await cluster0.client.db('archive').collection('old').insertOne({ n: 1 });
  await cluster0.client.db('archive').command({ createUser: 'archivist', pwd: 'x', roles: ['readWrite'] });
  await using instance = await fixture.startInstance();
  const carry = ['zones', 'balancing', 'usersAndRoles', 'defaultConcerns', 'clusterParameters'];
  const includeNamespaces = [{ database: 'shop', collections: ['orders'] }];
  await instance.migrate(startBody({ carry, includeNamespaces }));
  const after = readable(await inventoryOf(instance)).filter((row) =>
    /^(zones|balancing|users|roles|default)/.test(row),
  );
  expect(after).toEqual([
    ...as('equal', ['zones shop.orders', 'zones zone EU', 'zones zone US']),
    ...as('excluded', ['balancing shop.items', 'users archivist@archive', 'users auditor@admin']),
    ...as('equal', ['users clerk@shop', 'users shop-app@admin', 'roles desk@shop', 'roles reader@shop']),
    ...as('excluded', ['defaultConcerns defaultReadConcern', 'defaultConcerns defaultWriteConcern']),
  ]);
  expect(await cluster1.client.db('admin').command({ getDefaultRWConcern: 1 })).toMatchObject({
    defaultWriteConcernSource: 'implicit',
  });
  expect(await logsIn(cluster1, applications[0])).toBe(true);
}, 600_000);

it('between replica sets users, roles and settings are carried, in both directions', async () => {
  fixture = await Fixture.open('replicaSet', 'replicaSet', { cluster0: '8.0', cluster1: '8.0', withUsers: true });
  const { cluster0, cluster1 } = fixture;
  await makeEverything(cluster0, 'replicaSet');
  await cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  await cluster1.client.db('shop').command({ createUser: 'clerk', pwd: 'another', roles: ['read'] });
  await using instance = await fixture.startInstance();
  const carry = ['usersAndRoles', 'defaultConcerns', 'clusterParameters'];
  await instance.migrate(startBody({ carry, enableUserWriteBlocking: true, reversible: true }));
  const committed = await inventoryOf(instance);
  const shown = readable(committed).filter((row) => /^(users|roles|default)/.test(row));
  expect(shown).toEqual([
    'users auditor@admin: equal',
    'users clerk@shop: differs',
    'users shop-app@admin: equal',
    ...as('equal', ['roles desk@shop', 'roles reader@shop']),
    ...as('equal', ['defaultConcerns defaultReadConcern', 'defaultConcerns defaultWriteConcern']),
  ]);
  expect(await logsIn(cluster1, applications[0])).toBe(true);
  await expect(logsIn(cluster1, applications[1])).rejects.toMatchObject({ code: 18 });
  await cluster1.client.db('shop').command({ createUser: 'newcomer', pwd: 'x', roles: ['reader'] });
  const back = (await inventoryOf(instance)).reverse;
  expect(actionsOf(back ?? { rows: [] })).toContain('users newcomer@shop: carried');
  await instance.accepted('reverse');
  await instance.untilCanCommit();
  await instance.commitWhenOffered();
  const users = cluster0.client.db('admin').collection('system.users');
  expect(await users.countDocuments({ user: 'newcomer' })).toBe(1);
  expect(await logsIn(cluster0, applications[1])).toBe(true);
}, 600_000);
