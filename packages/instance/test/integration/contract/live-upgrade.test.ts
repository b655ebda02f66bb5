import { expect, it } from 'vitest';
import { Scene } from './scene.js';
import { startBody } from './start-conditions.js';

const documents = 400;

/** No item comes to the destination while this is on: the copy is not done, however long it takes to look. */
async function holdItems({ cluster1 }: Scene, mode: 'alwaysOn' | 'off'): Promise<void> {
  const data = { failCommands: ['insert', 'update'], namespace: 'shop.items', errorCode: 91 };
  await cluster1.client.db('admin').command({ configureFailPoint: 'failCommand', mode, ...(mode === 'off' ? {} : { data }) });
}

/** @returns the total that was estimated */
async function copyAPart(scene: Scene): Promise<number> {
  await using instance = await scene.startInstance();
  await instance.accepted('start', startBody());
  const copying = await instance.until('a part is copied', ({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > 100_000);
  // What is copied and not stored as done yet is copied anew, and then counts again.
  const partitions = scene.cluster1.client.db('convoy_metadata').collection('partitions');
  await expect.poll(() => partitions.countDocuments({ 'partitions.state': 'done' }), { timeout: 60_000 }).toBe(1);
  return copying.collectionCopy?.estimatedTotalBytes ?? 0;
}

it('after a live upgrade from a release before 1.8 the copy counts anew from 0 of 1, and what is copied later alone', async () => {
  await using scene = await Scene.open('replicaSet', 'replicaSet');
  const orders = scene.cluster0.client.db('shop').collection('orders');
  await orders.insertMany(Array.from({ length: documents }, (_, n) => ({ n, text: 'x'.repeat(1000) })));
  await scene.cluster0.client.db('shop').collection('items').insertMany([{ n: 1 }]);
  await holdItems(scene, 'alwaysOn');
  const before = await copyAPart(scene);
  const state = scene.cluster1.client.db('convoy_metadata').collection('migration');
  await state.updateOne({}, { $set: { release: '1.7.9' } });

  await using instance = await scene.startInstance();
  const first = await instance.progress();
  expect(first.collectionCopy?.estimatedCopiedBytes).toBeLessThanOrEqual(first.collectionCopy?.estimatedTotalBytes ?? 0);
  expect(await state.findOne()).toMatchObject({ release: expect.not.stringMatching(/^1\.7/) as unknown, estimatedTotalBytes: null });
  await holdItems(scene, 'off');
  await instance.untilCanCommit();
  const { collectionCopy } = await instance.progress();
  expect(collectionCopy?.estimatedCopiedBytes).toBe(collectionCopy?.estimatedTotalBytes);
  expect(collectionCopy?.estimatedTotalBytes).toBeLessThan(before);
  expect(await scene.cluster1.client.db('shop').collection('orders').countDocuments()).toBe(documents);
  expect(await scene.cluster1.client.db('shop').collection('items').countDocuments()).toBe(1);
});

it('a newer release goes on with a running migration, and an older one than the last that did is refused by name', async () => {
  await using scene = await Scene.open('replicaSet', 'replicaSet');
  await scene.cluster0.client.db('shop').collection('orders').insertMany([{ n: 1 }, { n: 2 }]);
  const state = scene.cluster1.client.db('convoy_metadata').collection('migration');
  {
    await using instance = await scene.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
  }
  const own = (await state.findOne())?.release as string;
  await state.updateOne({}, { $set: { release: '1.8.0' } });
  {
    await using newer = await scene.startInstance();
    await newer.untilCanCommit();
    expect(await state.findOne()).toMatchObject({ release: own });
  }
  await state.updateOne({}, { $set: { release: '99.0.0' } });
  const before = await scene.cluster1.contents();
  await using older = await scene.launchInstance();
  await expect.poll(async () => (await older.progressReply()).body.error as unknown, { timeout: 100_000 }).toBe('metadataFromNewerRelease');
  expect((await older.progressReply()).body.errorDescription).toMatch(/99\.0\.0/);
  expect((await older.command('start', startBody())).body.error).toBe('migrationFailed');
  expect(await scene.cluster1.contents()).toEqual(before);
});
