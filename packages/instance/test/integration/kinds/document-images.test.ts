import { expect, it } from 'vitest';
import { sampled } from '../../../../../test/seed.js';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from './equal-databases.js';

const releases = sampled(['6.0', '7.0', '8.0'] as const);

it.each(releases)(
  'collections whose changes keep pre- and post-images, and those whose do not (%s)',
  async (release) => {
    await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: release, cluster1: release });
    const shop = fixture.cluster0.client.db('shop');
    const kept = await shop.createCollection<{ _id: number; n: number }>('kept', {
      changeStreamPreAndPostImages: { enabled: true },
    });
    const plain = await shop.createCollection<{ _id: number; n: number }>('plain', {
      changeStreamPreAndPostImages: { enabled: false },
    });
    for (const collection of [kept, plain])
      await collection.insertMany(Array.from({ length: 50 }, (_, _id) => ({ _id, n: 0 })));
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    for (const collection of [kept, plain]) {
      await collection.updateMany({ _id: { $lt: 10 } }, { $inc: { n: 1 } });
      await collection.deleteMany({ _id: { $gt: 40 } });
    }
    await instance.accepted('commit');
    await instance.untilState('COMMITTED');

    await expectEqualDatabases(fixture, 'shop');
    await using stream = fixture.cluster1.client
      .db('shop')
      .collection('kept')
      .watch([], { fullDocumentBeforeChange: 'required' });
    const next = stream.next();
    await fixture.cluster1.client
      .db('shop')
      .collection<{ _id: number }>('kept')
      .updateOne({ _id: 1 }, { $set: { n: 5 } });
    expect(await next).toMatchObject({ fullDocumentBeforeChange: { _id: 1, n: 1 } });
  },
);
