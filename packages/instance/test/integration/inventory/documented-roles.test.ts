import { carriedKinds } from '@convoy/api/contract/carry';
import { expect, it } from 'vitest';
import { Fixture, type Side } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { actionsOf, applications, as, carried, inventoryOf, isReal, logsIn, makeEverything } from './everything.js';

/** The roles that `docs/guide/before.md` names for both clusters of a migration, and for `carry`. */
const documented = {
  cluster0: ['backup', 'clusterMonitor', 'readAnyDatabase', 'clusterManager'],
  cluster1: ['clusterManager', 'clusterMonitor', 'readWriteAnyDatabase', 'restore', 'backup'],
} as const;

/** The connection string of a user of Convoy with these roles alone. */
async function loginWith({ client, connectionString }: Side, roles: readonly string[]): Promise<string> {
  await client.db('admin').command({ createUser: 'convoy', pwd: 'secret', roles });
  const url = new URL(connectionString);
  [url.username, url.password] = ['convoy', 'secret'];
  return url.href;
}

it('users who have the documented roles alone take everything along', async () => {
  await using fixture = await Fixture.open(
    { shards: 2 },
    { shards: 2 },
    { cluster0: '8.0', cluster1: '8.0', withUsers: true },
  );
  const { cluster0, cluster1 } = fixture;
  await makeEverything(cluster0, { shards: 2 }, 20);
  await using instance = await fixture.startInstance({
    cluster0: await loginWith(cluster0, documented.cluster0),
    cluster1: await loginWith(cluster1, documented.cluster1),
    sourceAccess: 'router',
  });
  // Simulated servers have no query settings.
  const carry = carriedKinds.filter((kind) => isReal || kind !== 'querySettings');
  await instance.migrate(startBody({ carry }));
  const { zones, balancing, users, roles, settings } = carried;
  expect(actionsOf(await inventoryOf(instance))).toEqual(
    expect.arrayContaining(as('equal', [...zones, ...balancing, ...users, ...roles, ...settings])),
  );
  expect((await instance.progress()).warnings?.map(({ name }) => name)).toEqual(['leftBehind']);
  for (const application of applications) expect(await logsIn(cluster1, application)).toBe(true);
}, 300_000);
