import { afterEach, expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { refuses, startBody } from '../contract/start-conditions.js';
import { makeAccess, makeZones } from './everything.js';

let fixture: Fixture;

afterEach(() => fixture.close());

it('a start that cannot carry what it asks for is refused, and changes nothing', async () => {
  fixture = await Fixture.open({ shards: 2 }, 'replicaSet', { cluster0: '8.0', cluster1: '8.0' });
  await fixture.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  await using instance = await fixture.startInstance();
  await refuses(fixture, instance, startBody({ carry: ['zones'] }), {
    status: 422,
    error: 'carryNotPossible',
    says: /zones in carry need two sharded clusters/,
  });
  for (const database of ['admin', 'config', 'local'])
    await refuses(fixture, instance, startBody({ includeNamespaces: [{ database, collections: ['notes'] }] }), {
      status: 422,
      error: 'filterNamesServerDatabase',
      says: new RegExp(`${database}\\.notes`),
    });
});

it('zones on shards without a counterpart are refused by the name of the shard, and carried with a map', async () => {
  fixture = await Fixture.open({ shards: 3 }, { shards: 2 }, { cluster0: '8.0', cluster1: '8.0' });
  const { cluster0, cluster1 } = fixture;
  const [first = '', , third = ''] = await cluster0.shardIds();
  const there = await cluster1.shardIds();
  await makeZones(cluster0, [first, third], 20);
  await using instance = await fixture.startInstance();
  await refuses(fixture, instance, startBody({ carry: ['zones'] }), {
    status: 422,
    error: 'carryNotPossible',
    says: new RegExp(`no counterpart: ${third}`),
  });
  const zones = { [first]: there[1], [third]: there[0] };
  await instance.migrate(startBody({ carry: [{ zones }] }));
  const shards = await cluster1.client
    .db('config')
    .collection<{ _id: string; tags?: string[] }>('shards')
    .find()
    .sort({ _id: 1 })
    .toArray();
  expect(shards.map(({ _id, tags }) => [_id, tags])).toEqual([
    [there[0], ['US']],
    [there[1], ['EU']],
  ]);
  expect(await cluster1.client.db('config').collection('tags').countDocuments({ ns: 'shop.orders' })).toBe(2);
}, 300_000);

it('without the privilege to read users only a start with carry is refused, by its name', async () => {
  fixture = await Fixture.open('replicaSet', 'replicaSet', { cluster0: '8.0', cluster1: '8.0', withUsers: true });
  const { cluster0, cluster1 } = fixture;
  await makeAccess(cluster0);
  await cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  const roles = ['readAnyDatabase', 'clusterMonitor', { role: 'reads', db: 'admin' }];
  await cluster0.client.db('admin').command({
    createRole: 'reads',
    privileges: [{ resource: { cluster: true }, actions: ['useUUID', 'appendOplogNote'] }],
    roles: [],
  });
  await cluster0.client.db('admin').command({ createUser: 'limited', pwd: 'secret', roles });
  const url = new URL(cluster0.connectionString);
  url.username = 'limited';
  await using instance = await fixture.startInstance({ cluster0: url.href });
  const { body } = await instance.request('GET', '/api/v1/inventory');
  const unreadable = (body.inventory as { rows: { kind: string; name: string; description: string }[] }).rows.filter(
    ({ kind, name }) => kind === 'users' && name === '',
  );
  expect(unreadable.map(({ description }) => description)).toEqual([
    'On cluster0: The user lacks find on admin.system.users and admin.system.roles (role backup).',
  ]);
  await refuses(fixture, instance, startBody({ carry: ['usersAndRoles'] }), {
    status: 422,
    error: 'permissionMissing',
    says: /find on admin\.system\.users/,
  });
  await instance.migrate(startBody());
  expect(await cluster1.client.db('shop').collection('orders').countDocuments()).toBe(1);
}, 300_000);
