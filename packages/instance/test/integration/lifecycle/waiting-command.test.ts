import { expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';

it('an instance that ends waits for no command that waits for a cluster', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet');
  await using instance = await fixture.startInstance();
  const data = { failCommands: ['find'], namespace: 'convoy_metadata.migration', errorCode: 91 };
  await fixture.cluster1.client.db('admin').command({ configureFailPoint: 'failCommand', mode: 'alwaysOn', data });
  const reply = instance.command('start', startBody());
  await instance.untilLogged('retry');
  await instance.close();
  expect(await reply).toMatchObject({ status: 503, body: { error: 'shuttingDown' } });
});
