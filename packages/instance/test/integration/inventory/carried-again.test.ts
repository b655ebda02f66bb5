import { afterEach, expect, it } from 'vitest';
import type { LeaderStep } from '../../../src/lifecycle/migration/steps.js';
import { atStep } from '../at-step.js';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import {
  actionsOf,
  applications,
  as,
  carried,
  inventoryOf,
  logsIn,
  makeAccess,
  makeSettings,
  makeZones,
} from './everything.js';

let fixture: Fixture;

afterEach(() => fixture.close());

const releases = { cluster0: '8.0', cluster1: '8.0', withUsers: true } as const;
const carry = ['zones', 'balancing', 'usersAndRoles', 'defaultConcerns', 'clusterParameters'];

const count = (name: string, filter: object = {}): Promise<number> => {
  const [database = '', collection = ''] = name.split('/');
  return fixture.cluster1.client.db(database).collection(collection).countDocuments(filter);
};

it.each<LeaderStep>(['carryPlanned', 'accessCarried', 'openingTimeStored', 'settingsCarried'])(
  'a leader that ends after the step %s leaves nothing out, and nothing twice',
  async (step) => {
    fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, releases);
    const { cluster0, cluster1 } = fixture;
    await makeZones(cluster0, await cluster0.shardIds(), 20);
    await makeAccess(cluster0);
    await makeSettings(cluster0);
    const first = await fixture.startInstance();
    await first.accepted('start', startBody({ carry }));
    await first.untilCanCommit();
    const ended = atStep(step, () => first.close());
    await first.accepted('commit');
    await ended;
    // The second leader takes what there is now, as long as the destination is not opened.
    await cluster0.client.db('shop').command({ createUser: 'late', pwd: 'late', roles: ['reader'] });
    await using second = await fixture.startInstance();
    await second.untilState('COMMITTED');
    const { warnings } = await second.progress();
    expect(warnings?.map(({ name }) => name)).toEqual(['leftBehind']);
    for (const application of applications) expect(await logsIn(cluster1, application)).toBe(true);
    expect(await count('admin/system.roles')).toBe(carried.roles.length);
    const isBeforeOpening = step === 'carryPlanned' || step === 'accessCarried';
    expect(await count('admin/system.users', { user: 'late' })).toBe(isBeforeOpening ? 1 : 0);
    expect(await count('config/tags')).toBe(2);
    expect(await count('config/collections', { _id: 'shop.items', noBalance: true })).toBe(1);
    expect(await cluster1.client.db('admin').command({ getDefaultRWConcern: 1 })).toMatchObject({
      defaultReadConcern: { level: 'majority' },
      defaultWriteConcern: { w: 1 },
    });
  },
  300_000,
);

it('what the destination refuses in the commit is named, and the commit goes on', async () => {
  fixture = await Fixture.open('replicaSet', 'replicaSet', releases);
  const { cluster0, cluster1 } = fixture;
  await cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  await makeAccess(cluster0);
  const admin = cluster1.client.db('admin');
  const roles = ['root', 'readWriteAnyDatabase', 'dbAdminAnyDatabase', 'clusterAdmin'];
  await admin.command({ createUser: 'mover', pwd: 'secret', roles });
  const url = new URL(cluster1.connectionString);
  [url.username, url.password] = ['mover', 'secret'];
  await using instance = await fixture.startInstance({ cluster1: url.href });
  await instance.accepted('start', startBody({ carry: ['usersAndRoles'] }));
  await instance.untilCanCommit();
  // The leader has looked at the privileges, and looks again only in a minute.
  await admin.command({ revokeRolesFromUser: 'mover', roles: ['root'] });
  await instance.commitWhenOffered();
  expect(await count('admin/system.roles')).toBe(0);
  const { warnings } = await instance.progress();
  const named = warnings?.find(({ name }) => name === 'notCarried')?.description;
  for (const name of ['roles desk@shop', 'roles reader@shop', 'users clerk@shop', 'users shop-app@admin'])
    expect(named).toContain(name);
}, 300_000);

it('what the destination refuses after the decision is named, and everything else is made', async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, releases);
  const { cluster0, cluster1 } = fixture;
  await makeZones(cluster0, await cluster0.shardIds(), 20);
  await makeAccess(cluster0);
  await makeSettings(cluster0);
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody({ carry }));
  await instance.untilCanCommit();
  const admin = cluster1.client.db('admin');
  const failCommands = ['addShardToZone', 'updateZoneKeyRange', 'setDefaultRWConcern'];
  const refuse = (mode: string): Promise<unknown> =>
    admin.command({ configureFailPoint: 'failCommand', mode, data: { failCommands, errorCode: 2 } });
  await refuse('alwaysOn');
  await instance.commitWhenOffered();
  await refuse('off');
  const { warnings, canWrite } = await instance.progress();
  expect(canWrite).toBe(true);
  const named = warnings?.find(({ name }) => name === 'notCarried')?.description ?? '';
  const items = ['zones zone EU', 'zones zone US', 'zones shop.orders', ...carried.settings.slice(0, 2)];
  for (const item of items) expect(named).toContain(`${item} (BadValue`);
  expect(named).not.toMatch(/balancing|clusterParameters|users|roles/);
  const rows = actionsOf(await inventoryOf(instance));
  expect(rows).toEqual(expect.arrayContaining(as('equal', ['balancing shop.items', ...carried.users])));
  expect(rows).toContain('clusterParameters defaultMaxTimeMS: equal');
  expect(await count('config/tags')).toBe(0);
  expect(await admin.command({ getDefaultRWConcern: 1 })).toMatchObject({ defaultReadConcernSource: 'implicit' });
  for (const application of applications) expect(await logsIn(cluster1, application)).toBe(true);
}, 300_000);

it('an election while the commit reads what it takes along leaves nothing behind', async () => {
  fixture = await Fixture.open('replicaSet', 'replicaSet', releases);
  const { cluster0, cluster1 } = fixture;
  await cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  await makeSettings(cluster0);
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody({ carry: ['defaultConcerns'] }));
  await instance.untilCanCommit();
  const primarySteppedDown = 189;
  await cluster0.client.db('admin').command({
    configureFailPoint: 'failCommand',
    mode: { times: 1 },
    data: { failCommands: ['getDefaultRWConcern'], errorCode: primarySteppedDown },
  });
  await instance.commitWhenOffered();
  expect(await cluster1.client.db('admin').command({ getDefaultRWConcern: 1 })).toMatchObject({
    defaultReadConcern: { level: 'majority' },
    defaultReadConcernSource: 'global',
  });
}, 300_000);

it('no commit is offered once a zone is on a shard without a counterpart, and the shard is named', async () => {
  fixture = await Fixture.open({ shards: 3 }, { shards: 2 }, releases);
  const { cluster0, cluster1 } = fixture;
  const [first = '', second = '', third = ''] = await cluster0.shardIds();
  const [one = '', other = ''] = await cluster1.shardIds();
  await makeZones(cluster0, [first, second], 20);
  const before = await fixture.startInstance();
  await before.accepted('start', startBody({ carry: [{ zones: { [first]: one, [second]: other } }] }));
  await before.untilCanCommit();
  await before.close();
  await cluster0.client.db('admin').command({ addShardToZone: third, zone: 'EU' });
  // A new leader looks at once.
  await using instance = await fixture.startInstance();
  const seen = await instance.until('the shard is named', ({ warnings }) =>
    (warnings ?? []).some(({ name, description }) => name === 'cannotCarry' && description.includes(third)),
  );
  expect(seen.canCommit).toBe(false);
  await instance.until('the commit waits for it alone', ({ commitBlockers }) =>
    (commitBlockers ?? []).some(({ reason }) => reason === 'carry'),
  );
  await cluster0.client.db('admin').command({ removeShardFromZone: third, zone: 'EU' });
  await instance.close();
  await using last = await fixture.startInstance();
  await last.commitWhenOffered();
}, 300_000);
