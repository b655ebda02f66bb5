import { expect, it } from 'vitest';
import { atStep } from '../at-step.js';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';

it('a collection that users drop while its leader is replaced at the start is not left over', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet');
  const shop = fixture.cluster0.client.db('shop');
  await shop.collection('orders').insertOne({ a: 1 });
  await shop.createCollection('gone');
  const first = await fixture.startInstance();
  const ended = atStep('collectionsMade', () => first.close());
  await first.accepted('start', startBody());
  await ended;
  const records = fixture.cluster1.client.db('convoy_metadata').collection('migration');
  expect(await records.findOne()).toMatchObject({ phase: 'starting' });
  await shop.collection('gone').drop();
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  await instance.commitWhenOffered();
  await expectEqualDatabases(fixture, 'shop');
});
