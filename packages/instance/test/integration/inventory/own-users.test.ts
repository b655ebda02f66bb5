import { afterEach, expect, it } from 'vitest';
import { Fixture, type Side } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { actionsOf, applications, as, carried, inventoryOf, logsIn, makeAccess } from './everything.js';

let fixture: Fixture;

afterEach(() => fixture.close());

const password = 'secret';

/** The connection string of a user of Convoy that this cluster alone has. */
async function ownLogin({ client, connectionString }: Side, user: string): Promise<string> {
  await client.db('admin').command({ createUser: user, pwd: password, roles: ['root'] });
  const url = new URL(connectionString);
  [url.username, url.password] = [user, password];
  return url.href;
}

const usersOf = async ({ client }: Side): Promise<string[]> =>
  (await client.db('admin').collection('system.users').find().toArray()).map(({ user }) => String(user));

it('sharded clusters keep the users of Convoy to themselves, and a user that differs is named', async () => {
  fixture = await Fixture.open({ shards: 1 }, { shards: 1 }, { cluster0: '8.0', cluster1: '8.0', withUsers: true });
  const { cluster0, cluster1 } = fixture;
  await cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  await makeAccess(cluster0);
  const [here, there] = [await ownLogin(cluster0, 'mover'), await ownLogin(cluster1, 'taker')];
  await cluster1.client.db('shop').command({ createUser: 'clerk', pwd: 'another', roles: ['read'] });
  await using instance = await fixture.startInstance({ cluster0: here, cluster1: there, sourceAccess: 'router' });
  await instance.accepted(
    'start',
    startBody({ carry: ['usersAndRoles'], enableUserWriteBlocking: true, reversible: true }),
  );
  const { warnings } = await instance.untilCanCommit();
  const named = warnings?.find(({ name }) => name === 'leftBehind')?.description ?? '';
  expect(named).toContain('users clerk@shop');
  for (const own of ['mover', 'taker']) expect(named).not.toContain(own);
  await instance.commitWhenOffered();
  // The testbed's own migrator is no user of this instance.
  const isOfAccess = (row: string): boolean => /^(users|roles) (?!migrator@)/.test(row);
  expect(actionsOf(await inventoryOf(instance)).filter(isOfAccess)).toEqual([
    ...carried.users.flatMap((name) => as(name === 'users clerk@shop' ? 'differs' : 'equal', [name])),
    ...as('equal', carried.roles),
  ]);
  expect(await usersOf(cluster1)).not.toContain('mover');
  for (const application of applications)
    if (application.user === 'clerk') await expect(logsIn(cluster1, application)).rejects.toMatchObject({ code: 18 });
    else expect(await logsIn(cluster1, application)).toBe(true);
  await instance.accepted('reverse');
  const back = await instance.untilCanCommit();
  expect(back.warnings?.find(({ name }) => name === 'leftBehind')?.description).toContain('users clerk@shop');
  await instance.commitWhenOffered();
  expect(await usersOf(cluster0)).not.toContain('taker');
  for (const application of applications) expect(await logsIn(cluster0, application)).toBe(true);
}, 300_000);
