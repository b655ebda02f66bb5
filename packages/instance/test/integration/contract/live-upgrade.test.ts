import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { cleanUp } from '../../../src/lifecycle/instance/clean-up.js';
import { Fixture } from './fixture.js';

import { startBody } from './start-conditions.js';

const documents = 400;

/** The names that a release before 2.0 stored its metadata under, as `$rename` takes them. */
const formerFields: Readonly<Record<string, Document>> = {
  tasks: {
    applyWatermark: 'begun',
    acknowledged: 'consented',
    reverseRequested: 'reverseTold',
    'verification.stats': 'verification.figures',
  },
  partitions: { task: 'share' },
  rereads: { task: 'share' },
  verificationParts: { task: 'share' },
  mismatches: { task: 'share' },
  migration: { taskIds: 'shareIds', ddlChanges: 'definitions', ddlWatermark: 'horizon', memberCheck: 'rollCall' },
};
const formerCollections = { tasks: 'shares', rereads: 'repairs', ddlChanges: 'definitions' };

/** Leaves the metadata as a release before 2.0 would have. */
async function storeAsFormerRelease({ cluster1 }: Fixture, release: string): Promise<void> {
  const metadata = cluster1.client.db('convoy_metadata');
  for (const [name, $rename] of Object.entries(formerFields))
    await metadata.collection(name).updateMany({}, { $rename });
  const present = new Set((await metadata.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name));
  for (const [name, former] of Object.entries(formerCollections)) {
    if (present.has(name)) await metadata.collection(name).rename(former);
  }
  await metadata.collection('migration').updateOne({}, { $set: { release } });
}

/** No item reaches the destination while this is on, so the copy cannot finish before the test has looked. */
async function holdItems({ cluster1 }: Fixture, mode: 'alwaysOn' | 'off'): Promise<void> {
  const data = { failCommands: ['insert', 'update'], namespace: 'shop.items', errorCode: 91 };
  await cluster1.client
    .db('admin')
    .command({ configureFailPoint: 'failCommand', mode, ...(mode === 'off' ? {} : { data }) });
}

/** @returns the estimated total */
async function copyAPart(fixture: Fixture): Promise<number> {
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  const copying = await instance.until(
    'a part is copied',
    ({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > 100_000,
  );
  // What is copied but not stored as done is copied again, and counts again.
  const partitions = fixture.cluster1.client.db('convoy_metadata').collection('partitions');
  await expect.poll(() => partitions.countDocuments({ 'partitions.state': 'done' })).toBe(1);
  return copying.collectionCopy?.estimatedTotalBytes ?? 0;
}

it('after a live upgrade from a release before 1.8 the copy counts from 0 of 1, and only later data', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet');
  const orders = fixture.cluster0.client.db('shop').collection('orders');
  await orders.insertMany(Array.from({ length: documents }, (_, n) => ({ n, text: 'x'.repeat(1000) })));
  await fixture.cluster0.client
    .db('shop')
    .collection('items')
    .insertMany([{ n: 1 }]);
  await holdItems(fixture, 'alwaysOn');
  const before = await copyAPart(fixture);
  const state = fixture.cluster1.client.db('convoy_metadata').collection('migration');
  await storeAsFormerRelease(fixture, '1.7.9');

  await using instance = await fixture.startInstance();
  const first = await instance.progress();
  expect(first.collectionCopy?.estimatedCopiedBytes).toBeLessThanOrEqual(
    first.collectionCopy?.estimatedTotalBytes ?? 0,
  );
  expect(await state.findOne()).toMatchObject({
    release: expect.not.stringMatching(/^1\.7/) as unknown,
    estimatedTotalBytes: null,
  });
  await holdItems(fixture, 'off');
  await instance.untilCanCommit();
  const { collectionCopy } = await instance.progress();
  expect(collectionCopy?.estimatedCopiedBytes).toBe(collectionCopy?.estimatedTotalBytes);
  expect(collectionCopy?.estimatedTotalBytes).toBeLessThan(before);
  expect(await fixture.cluster1.client.db('shop').collection('orders').countDocuments()).toBe(documents);
  expect(await fixture.cluster1.client.db('shop').collection('items').countDocuments()).toBe(1);
});

it('a newer release continues a running migration, and an older one than the last is refused by name', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet');
  await fixture.cluster0.client
    .db('shop')
    .collection('orders')
    .insertMany([{ n: 1 }, { n: 2 }]);
  const state = fixture.cluster1.client.db('convoy_metadata').collection('migration');
  {
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
  }
  const own = (await state.findOne())?.release as string;
  await storeAsFormerRelease(fixture, '1.9.0');
  {
    await using newer = await fixture.startInstance();
    await newer.untilCanCommit();
    expect(await state.findOne()).toMatchObject({ release: own });
  }
  await state.updateOne({}, { $set: { release: '99.0.0' } });
  const before = await fixture.cluster1.contents();
  await using older = await fixture.launchInstance();
  await expect.poll(async () => (await older.progressReply()).body.error as unknown).toBe('metadataFromNewerRelease');
  expect((await older.progressReply()).body.errorDescription).toMatch(/99\.0\.0/);
  expect((await older.command('start', startBody())).body.error).toBe('metadataFromNewerRelease');
  expect(await fixture.cluster1.contents()).toEqual(before);
});

it('the next process finishes an interrupted take-over, and readers refuse the metadata until then', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet');
  const orders = fixture.cluster0.client.db('shop').collection('orders');
  await orders.insertMany([{ n: 1 }, { n: 2 }]);
  {
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
  }
  await storeAsFormerRelease(fixture, '1.9.0');
  const { cluster0, cluster1 } = fixture;
  const config = parseInstanceConfig({
    flags: { cluster0: cluster0.connectionString, cluster1: cluster1.connectionString },
  });
  const agree = (): Promise<boolean> => Promise.resolve(true);
  await expect(cleanUp(config, 'cluster1', agree, new AbortController().signal)).rejects.toMatchObject({
    error: 'metadataFromOlderRelease',
  });
  const metadata = cluster1.client.db('convoy_metadata');
  await metadata.collection('shares').rename('tasks');
  await metadata.collection('partitions').updateMany({}, { $rename: { share: 'task' }, $inc: { epoch: 1 } });

  await orders.insertOne({ n: 3 });
  await using instance = await fixture.startInstance();
  await instance.commitWhenOffered();
  await instance.untilState('COMMITTED');
  expect(await cluster1.client.db('shop').collection('orders').countDocuments()).toBe(3);
});
