import { carriedKinds } from '@convoy/api/contract/carry';
import type { InventoryAction } from '@convoy/api/contract/inventory';
import { afterEach, expect, it } from 'vitest';
import { Fixture, readsShards } from '../contract/fixture.js';
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
  outsideOfZones,
} from './everything.js';

let fixture: Fixture;

afterEach(() => fixture.close());

const documents = 400;
const users = { cluster0: '8.0', cluster1: '8.0', withUsers: true } as const;
/** Simulated servers have no query settings. */
const everything = carriedKinds.filter((kind) => isReal || kind !== 'querySettings');

/**
 * The whole table of a sharded source with everything.
 * @param ofCarried the outcome of what `carry` may name, and of what is migrated
 */
function tableWith(ofCarried: InventoryAction, ofMigrated: InventoryAction, alsoUser?: string): string[] {
  const [auditor, clerk, app] = carried.users;
  return [
    ...as(ofCarried, carried.sharded),
    ...as(ofCarried, [auditor, clerk, ...(alsoUser === undefined ? [] : [alsoUser]), app]),
    ...as(ofCarried, [...carried.roles, ...carried.settings]),
    ...as('leftBehind', [...listed.ownCollections, ...listed.balancer]),
    'balancer mode: own',
    ...as('leftBehind', [...listed.ofCluster, ...listed.profiler]),
    'primaries shop: own',
    ...as(ofMigrated, migrated),
  ];
}

/** The destination's profiler is hidden behind its router. */
const readable = (rows: readonly string[]): string[] => rows.filter((row) => !row.endsWith(': notReadable'));

it('a cluster with everything is migrated with all of it, and applications log in with their passwords', async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, users);
  const { cluster0, cluster1 } = fixture;
  await makeEverything(cluster0, { shards: 2 }, documents);
  await using instance = await fixture.startInstance(readsShards);
  const before = actionsOf(await inventoryOf(instance, `?carry=${everything.join()}`));
  expect(readable(before)).toEqual(tableWith('carried', 'migrated'));
  await instance.accepted('start', startBody({ carry: everything, enableUserWriteBlocking: true }));
  await instance.untilCanCommit();
  // Nothing of it is there before the commit, and what is added meanwhile comes along.
  expect(await cluster1.client.db('config').collection('tags').countDocuments()).toBe(0);
  expect(await cluster1.client.db('admin').collection('system.roles').countDocuments()).toBe(0);
  expect(await cluster1.client.db('admin').command({ getDefaultRWConcern: 1 })).toMatchObject({
    defaultReadConcernSource: 'implicit',
  });
  await cluster0.client.db('shop').command({ createUser: 'late', pwd: 'late', roles: ['reader'] });
  const [first] = await cluster0.shardIds();
  const admin = cluster0.client.db('admin');
  await admin.command({ addShardToZone: first, zone: 'late' });
  const range = { min: { region: 'XX', n: 0 }, max: { region: 'XX', n: 9 } };
  await admin.command({ updateZoneKeyRange: 'shop.orders', ...range, zone: 'late' });
  expect(await outsideOfZones(cluster0)).not.toEqual([]);
  await instance.commitWhenOffered();
  const after = readable(actionsOf(await inventoryOf(instance)));
  const expected = tableWith('equal', 'equal', 'users late@shop');
  expected.splice(carried.sharded.indexOf('balancing shop.items'), 0, 'zones zone late: equal');
  expect(after).toEqual(expected);
  expect(await cluster1.client.db('config').collection('tags').countDocuments({ tag: 'late' })).toBe(1);
  const { warnings } = await instance.progress();
  expect(warnings?.map(({ name }) => name)).toEqual(['leftBehind']);
  expect(warnings?.[0]?.description).toContain('ownCollections admin.notes');
  for (const application of applications) expect(await logsIn(cluster1, application)).toBe(true);
  await expect.poll(() => outsideOfZones(cluster1), { timeout: 240_000, interval: 1_000 }).toEqual([]);
  expect(await cluster1.client.db('shop').collection('orders').countDocuments()).toBe(documents);
}, 600_000);

it('a cluster with everything is migrated with none of it, and names what stays behind', async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, users);
  const { cluster0, cluster1 } = fixture;
  await makeEverything(cluster0, { shards: 2 }, documents);
  await using instance = await fixture.startInstance(readsShards);
  expect(readable(actionsOf(await inventoryOf(instance)))).toEqual(tableWith('leftBehind', 'migrated'));
  await instance.accepted('start', startBody());
  const { warnings } = await instance.untilCanCommit();
  const named = warnings?.find(({ name }) => name === 'leftBehind')?.description;
  for (const name of ['zones zone EU', 'users clerk@shop', 'roles desk@shop', 'balancing shop.items'])
    expect(named).toContain(name);
  await instance.commitWhenOffered();
  expect(readable(actionsOf(await inventoryOf(instance)))).toEqual(tableWith('leftBehind', 'equal'));
  expect(await cluster1.client.db('config').collection('tags').countDocuments()).toBe(0);
  await expect(logsIn(cluster1, applications[0])).rejects.toMatchObject({ code: 18 });
}, 600_000);

it('with a filter only what belongs to it is carried', async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, users);
  const { cluster0, cluster1 } = fixture;
  await makeEverything(cluster0, { shards: 2 }, documents);
  await cluster0.client.db('archive').collection('old').insertOne({ n: 1 });
  await cluster0.client.db('archive').command({ createUser: 'archivist', pwd: 'x', roles: ['readWrite'] });
  await using instance = await fixture.startInstance(readsShards);
  const includeNamespaces = [{ database: 'shop', collections: ['orders'] }];
  await instance.migrate(startBody({ carry: everything, includeNamespaces }));
  const ofOrders = carried.settings.filter((name) => name.startsWith('querySettings'));
  expect(readable(actionsOf(await inventoryOf(instance)))).toEqual([
    ...as('equal', ['zones shop.orders', 'zones zone EU', 'zones zone US']),
    ...as('excluded', ['balancing shop.items', 'users archivist@archive', 'users auditor@admin']),
    ...as('equal', ['users clerk@shop', 'users shop-app@admin', ...carried.roles]),
    ...as(
      'excluded',
      carried.settings.filter((name) => !ofOrders.includes(name)),
    ),
    ...as('equal', ofOrders),
    ...as('excluded', [...listed.ownCollections, ...listed.balancer]),
    'balancer mode: own',
    ...as('excluded', listed.ofCluster),
    ...as('leftBehind', listed.profiler),
    ...as('own', ['primaries archive', 'primaries shop']),
    ...as('excluded', migrated),
  ]);
  expect(await cluster1.client.db('admin').command({ getDefaultRWConcern: 1 })).toMatchObject({
    defaultWriteConcernSource: 'implicit',
  });
  expect(await logsIn(cluster1, applications[0])).toBe(true);
}, 600_000);
