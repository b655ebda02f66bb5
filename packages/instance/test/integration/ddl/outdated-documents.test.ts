import { it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';

it('an index that outdated documents refuse is built once they are as on the source', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet');
  const orders = fixture.cluster0.client.db('shop').collection<{ _id: number; a: unknown; b: number[] }>('orders');
  await orders.insertOne({ _id: 1, a: [1], b: [1] });
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();

  const withhold = (mode: 'alwaysOn' | 'off'): Promise<unknown> => {
    const data = { failCommands: ['insert', 'update', 'delete'], namespace: 'shop.orders', errorCode: 91 };
    const failPoint = { configureFailPoint: 'failCommand', mode, ...(mode === 'off' ? {} : { data }) };
    return fixture.cluster1.client.db('admin').command(failPoint);
  };
  await withhold('alwaysOn');
  await orders.updateOne({ _id: 1 }, { $set: { a: 1 } });
  await orders.createIndexes([{ key: { a: 1, b: 1 }, name: 'a_1_b_1' }]);
  await instance.untilLogged('indexBuildWaits');
  await withhold('off');
  await instance.commitWhenOffered();
  await expectEqualDatabases(fixture, 'shop');
});
