import { afterEach, expect, it } from 'vitest';
import { Fixture, type Side } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { makeAccess } from './everything.js';

let fixture: Fixture;

afterEach(() => fixture.close());

/** Long enough for a small migration to be ready meanwhile, and shorter than any wait for an answer. */
const slow_ms = 12_000;

/** Lets a cluster take its time with a command that nothing but an inventory sends; `off` ends it. */
async function delayInventories({ client }: Side, mode: 'alwaysOn' | 'off'): Promise<void> {
  const data = { failCommands: ['getDefaultRWConcern'], blockConnection: true, blockTimeMS: slow_ms };
  await client.db('admin').command({ configureFailPoint: 'failCommand', mode, ...(mode === 'alwaysOn' && { data }) });
}

it('a reverse is offered no commit before the first look, which names what it leaves behind', async () => {
  fixture = await Fixture.open('replicaSet', 'replicaSet', { cluster0: '8.0', cluster1: '8.0', withUsers: true });
  const { cluster0, cluster1 } = fixture;
  await cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  await using instance = await fixture.startInstance();
  await instance.migrate(startBody({ enableUserWriteBlocking: true, reversible: true }));
  await makeAccess(cluster1);
  await delayInventories(cluster0, 'alwaysOn');
  await instance.accepted('reverse');
  const seen = await instance.until(
    'nothing but the look is awaited',
    ({ canCommit, commitBlockers }) =>
      canCommit || (commitBlockers?.length === 1 && commitBlockers[0]?.reason === 'inventory'),
  );
  expect(seen.canCommit).toBe(false);
  expect(await instance.command('commit')).toMatchObject({ status: 409, body: { error: 'cannotCommit' } });
  await delayInventories(cluster0, 'off');
  const { warnings } = await instance.untilCanCommit();
  expect(warnings?.find(({ name }) => name === 'leftBehind')?.description).toContain('users clerk@shop');
  await instance.commitWhenOffered();
}, 300_000);
