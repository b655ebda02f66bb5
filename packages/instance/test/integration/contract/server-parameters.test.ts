import { expect, it } from 'vitest';
import { atStep } from '../at-step.js';
import { Fixture, type Side } from './fixture.js';
import { startBody } from './start-conditions.js';

async function setScans({ client }: Side, notablescan: boolean): Promise<void> {
  await client.db('admin').command({ setParameter: 1, notablescan });
}

// Simulated servers do not have the parameter.
const onReal = it.runIf(process.env['MONGO_BIN']);

onReal.each(['cluster0', 'cluster1'] as const)(
  'a start is refused by name while notablescan is on at %s, and changes nothing',
  async (name) => {
    await using fixture = await Fixture.open('replicaSet', 'replicaSet');
    await fixture.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
    const side = fixture[name];
    await setScans(side, true);
    await using instance = await fixture.startInstance();
    const reply = await instance.command('start', startBody());
    expect(reply).toMatchObject({ status: 422, body: { error: 'serverParameterInTheWay' } });
    expect(reply.body.errorDescription).toMatch(new RegExp(`notablescan is on at ${name}: .*Set it to false on every`));
    await setScans(side, false);
    await instance.accepted('start', startBody());
  },
);

onReal(
  'notablescan that somebody turns on within a commit ends it by its name, or is in the way of nothing',
  async () => {
    await using fixture = await Fixture.open('replicaSet', 'replicaSet');
    const shop = fixture.cluster0.client.db('shop');
    await shop.collection('orders').insertMany([{ n: 1 }, { n: 2 }]);
    await shop.collection('orders').createIndex({ n: 1 }, { unique: true });
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    const turned = atStep('commitSealed', () => setScans(fixture.cluster1, true));
    await instance.accepted('commit');
    await turned;
    await expect
      .poll(
        async () => {
          const { body } = await instance.progressReply();
          return (body.error as string | undefined) ?? (body.progress as { state: string }).state;
        },
        { timeout: 60_000 },
      )
      .toMatch(/^(serverParameterInTheWay|COMMITTED)$/);
  },
);
