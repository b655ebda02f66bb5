import { carriedKinds } from '@convoy/api/contract/carry';
import type { InventoryAction } from '@convoy/api/contract/inventory';
import type { Document } from 'mongodb';
import { afterEach, expect, it } from 'vitest';
import { Fixture, readsShards, type Side } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { balancedRounds, documentsOutside, removeOrphansAtOnce, settingsOf } from './asked-of-servers.js';
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
const releases = { cluster0: '8.0', cluster1: '8.0', withUsers: true } as const;
/** Simulated servers have no query settings. */
const everything = carriedKinds.filter((kind) => isReal || kind !== 'querySettings');

/** The profiler of the destination is hidden behind its router, and nothing else of either cluster. */
const hidden = 'profiler : notReadable';

/** Outcomes of a table, for what `carry` may name and for what is always migrated. */
interface Outcomes {
  readonly carried: InventoryAction;
  readonly migrated: InventoryAction;
}

/**
 * The whole table of a sharded source with everything.
 * @param users of the source; those of `makeEverything` unless given
 * @param zones of the source, likewise
 */
function tableWith(
  outcomes: Outcomes,
  users: readonly string[] = carried.users,
  zones: readonly string[] = carried.zones,
): string[] {
  return [
    hidden,
    ...as(outcomes.carried, [...zones, ...carried.balancing, ...users, ...carried.roles, ...carried.settings]),
    ...as('leftBehind', [...listed.ownCollections, ...listed.local, ...listed.balancer]),
    'balancer mode: own',
    ...as('leftBehind', [...listed.ofCluster, ...listed.profiler]),
    'primaries shop: own',
    ...as(outcomes.migrated, migrated),
  ];
}

/** What is there before the start, and gone before the commit. */
async function makeLeaving(side: Side): Promise<void> {
  const admin = side.client.db('admin');
  await side.client.db('shop').command({ createUser: 'leaver', pwd: 'x', roles: ['reader'] });
  const [first] = await side.shardIds();
  await admin.command({ addShardToZone: first, zone: 'old' });
  await admin.command({ updateZoneKeyRange: 'shop.orders', ...rangeOf('VV', 9), zone: 'old' });
}

const rangeOf = (region: string, n: number) => ({ min: { region, n: -1 }, max: { region, n } });
const [, clerk] = applications;

/** Adds, changes and removes users, roles and zones between the start and the commit. */
async function changeMeanwhile(side: Side): Promise<void> {
  const shop = side.client.db('shop');
  await shop.command({ createUser: 'late', pwd: 'late', roles: ['reader'] });
  await shop.command({ updateUser: 'clerk', pwd: 'changed' });
  await shop.command({ dropUser: 'leaver' });
  const resource = { db: 'shop', collection: 'items' };
  if (isReal)
    await shop.command({ grantPrivilegesToRole: 'reader', privileges: [{ resource, actions: ['collStats'] }] });
  const [first] = await side.shardIds();
  const admin = side.client.db('admin');
  const zoneOf = (range: object, zone: string | null): Promise<unknown> =>
    admin.command({ updateZoneKeyRange: 'shop.orders', ...range, zone });
  await admin.command({ addShardToZone: first, zone: 'late' });
  await zoneOf(rangeOf('XX', 9), 'late');
  await zoneOf(rangeOf('VV', 9), null);
  await admin.command({ removeShardFromZone: first, zone: 'old' });
  await zoneOf(rangeOf('US', documents), null);
  await zoneOf(rangeOf('US', 2 * documents), 'US');
}

/** Ranges of a collection with their zones, as the config servers have them. */
async function rangesOf({ client }: Side, namespace: string): Promise<Document[]> {
  return client
    .db('config')
    .collection('tags')
    .find({ ns: namespace }, { projection: { _id: 0 }, sort: { min: 1 }, promoteValues: false })
    .toArray();
}

it('a cluster with everything is migrated with all of it, and applications log in with their passwords', async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, releases);
  const { cluster0, cluster1 } = fixture;
  await makeEverything(cluster0, { shards: 2 }, documents);
  await makeLeaving(cluster0);
  await using instance = await fixture.startInstance(readsShards);
  const before = actionsOf(await inventoryOf(instance, `?carry=${everything.join()}`));
  const everyUser = (...more: string[]): string[] => [...carried.users, ...more].sort();
  const outcomes = { carried: 'carried', migrated: 'migrated' } as const;
  expect(before).toEqual(tableWith(outcomes, everyUser('users leaver@shop'), [...carried.zones, 'zones zone old']));
  await instance.accepted('start', startBody({ carry: everything, enableUserWriteBlocking: true }));
  await instance.untilCanCommit();
  // Nothing of it is there before the commit, which takes what there is by then.
  expect(await rangesOf(cluster1, 'shop.orders')).toEqual([]);
  expect(await cluster1.client.db('admin').collection('system.roles').countDocuments()).toBe(0);
  expect(await cluster1.client.db('admin').command({ getDefaultRWConcern: 1 })).toMatchObject({
    defaultReadConcernSource: 'implicit',
  });
  await changeMeanwhile(cluster0);
  expect(await outsideOfZones(cluster0)).not.toEqual([]);
  await removeOrphansAtOnce(cluster1);
  await instance.commitWhenOffered();
  expect(actionsOf(await inventoryOf(instance))).toEqual(
    tableWith({ carried: 'equal', migrated: 'equal' }, everyUser('users late@shop'), [
      ...carried.zones.slice(0, -1),
      ...['zones zone US', 'zones zone late'],
    ]),
  );
  for (const namespace of ['shop.orders', 'shop.events'])
    expect(await rangesOf(cluster1, namespace)).toEqual(await rangesOf(cluster0, namespace));
  const { warnings } = await instance.progress();
  expect(warnings?.map(({ name }) => name)).toEqual(['leftBehind']);
  expect(warnings?.[0]?.description).toContain('ownCollections admin.notes');
  for (const application of applications)
    if (application !== clerk) expect(await logsIn(cluster1, application)).toBe(true);
  if (clerk !== undefined) {
    expect(await logsIn(cluster1, clerk, 'changed')).toBe(true);
    await expect(logsIn(cluster1, clerk)).rejects.toMatchObject({ code: 18 });
  }
  const settings = await settingsOf(cluster1);
  expect(settings).toEqual(await settingsOf(cluster0));
  expect(settings.parameters).toMatchObject({ defaultMaxTimeMS: { readOperations: 55_000 } });
  expect(settings.querySettings).toHaveLength(isReal ? 3 : 0);
  const outside = async (): Promise<string[]> => [
    ...(await outsideOfZones(cluster1)),
    ...(await documentsOutside(cluster1, ['orders', 'events'])),
  ];
  await expect.poll(outside, { timeout: 240_000, interval: 1_000 }).toEqual([]);
  // One takes ten seconds once nothing is left to move.
  await balancedRounds(cluster1, isReal ? 3 : 0);
  expect(await outside()).toEqual([]);
  for (const name of ['orders', 'events'])
    expect(await cluster1.client.db('shop').collection(name).countDocuments()).toBe(documents);
}, 600_000);

it('a cluster with everything is migrated with none of it, and names what stays behind', async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, releases);
  const { cluster0, cluster1 } = fixture;
  await makeEverything(cluster0, { shards: 2 }, documents);
  await using instance = await fixture.startInstance(readsShards);
  const outcomes = { carried: 'leftBehind', migrated: 'migrated' } as const;
  expect(actionsOf(await inventoryOf(instance))).toEqual(tableWith(outcomes));
  await instance.accepted('start', startBody());
  const { warnings } = await instance.untilCanCommit();
  const named = warnings?.find(({ name }) => name === 'leftBehind')?.description;
  for (const name of ['zones zone EU', 'users clerk@shop', 'roles desk@shop', 'balancing shop.items'])
    expect(named).toContain(name);
  await instance.commitWhenOffered();
  expect(actionsOf(await inventoryOf(instance))).toEqual(tableWith({ ...outcomes, migrated: 'equal' }));
  expect(await cluster1.client.db('config').collection('tags').countDocuments()).toBe(0);
  for (const application of applications)
    await expect(logsIn(cluster1, application)).rejects.toMatchObject({ code: 18 });
}, 600_000);

it('with a filter only what belongs to it is carried', async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, releases);
  const { cluster0, cluster1 } = fixture;
  await makeEverything(cluster0, { shards: 2 }, documents);
  await cluster0.client.db('archive').collection('old').insertOne({ n: 1 });
  await cluster0.client.db('archive').command({ createUser: 'archivist', pwd: 'x', roles: ['readWrite'] });
  await using instance = await fixture.startInstance(readsShards);
  const includeNamespaces = [{ database: 'shop', collections: ['orders'] }];
  await instance.migrate(startBody({ carry: everything, includeNamespaces }));
  const ofOrders = carried.settings.filter((name) => name.startsWith('querySettings'));
  const isExcluded = (name: string): boolean => /auditor|archivist/.test(name);
  expect(actionsOf(await inventoryOf(instance))).toEqual([
    hidden,
    'zones shop.events: excluded',
    ...as('equal', carried.zones.slice(1)),
    ...as('excluded', carried.balancing),
    ...[...carried.users, 'users archivist@archive']
      .sort()
      .flatMap((name) => as(isExcluded(name) ? 'excluded' : 'equal', [name])),
    ...as('equal', carried.roles),
    ...as(
      'excluded',
      carried.settings.filter((name) => !ofOrders.includes(name)),
    ),
    ...as('equal', ofOrders),
    ...as('excluded', [...listed.ownCollections, ...listed.local, ...listed.balancer]),
    'balancer mode: own',
    ...as('excluded', listed.ofCluster),
    ...as('leftBehind', listed.profiler),
    ...as('own', ['primaries archive', 'primaries shop']),
    ...as('excluded', migrated),
  ]);
  expect(await cluster1.client.db('admin').command({ getDefaultRWConcern: 1 })).toMatchObject({
    defaultWriteConcernSource: 'implicit',
  });
  for (const application of applications) {
    const found = await logsIn(cluster1, application).catch((error: unknown) => error);
    if (application.user === 'auditor') expect(found).toMatchObject({ code: 18 });
    else expect(found).toBe(true);
  }
}, 600_000);

it('a time series keeps its zones and its balancing, under the name that users know', async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: '8.0', cluster1: '8.0' });
  const { cluster0, cluster1 } = fixture;
  const admin = cluster0.client.db('admin');
  const [first] = await cluster0.shardIds();
  const buckets = 'shop.system.buckets.weather';
  await cluster0.client.db('shop').createCollection('weather', { timeseries: { timeField: 'at', metaField: 'of' } });
  await admin.command({ shardCollection: 'shop.weather', key: { of: 1, at: 1 } });
  await admin.command({ addShardToZone: first, zone: 'near' });
  await admin.command({ updateZoneKeyRange: buckets, min: { meta: 'a' }, max: { meta: 'm' }, zone: 'near' });
  await cluster0.client
    .db('config')
    .collection<{ _id: string }>('collections')
    .updateOne({ _id: buckets }, { $set: { noBalance: true } });
  await admin.command({ configureCollectionBalancing: buckets, chunkSize: 32 });
  await cluster0.client.db('shop').collection('weather').insertOne({ at: new Date(), of: 'b', n: 1 });
  await using instance = await fixture.startInstance();
  const includeNamespaces = [{ database: 'shop', collections: ['weather'] }];
  await instance.migrate(startBody({ carry: ['zones', 'balancing'], includeNamespaces }));
  expect(actionsOf(await inventoryOf(instance))).toEqual(
    expect.arrayContaining(as('equal', ['zones shop.weather', 'zones zone near', 'balancing shop.weather'])),
  );
  const ranges = await rangesOf(cluster1, buckets);
  expect(ranges).toEqual(await rangesOf(cluster0, buckets));
  expect(ranges).toHaveLength(1);
  const found = cluster1.client.db('config').collection<{ _id: string }>('collections').findOne({ _id: buckets });
  expect(await found).toMatchObject({ noBalance: true, maxChunkSizeBytes: 32 * 2 ** 20 });
}, 300_000);
