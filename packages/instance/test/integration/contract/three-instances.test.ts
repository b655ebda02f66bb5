import type { Progress } from '@convoy/api/contract/progress';
import { expect, it } from 'vitest';
import { Board } from './board-fleet.js';
import { Fixture } from './fixture.js';
import { anyReleases } from './releases.js';
import { startBody } from './start-conditions.js';
import { sampled } from '../../../../../test/seed.js';

function copiesOf(progresses: readonly Progress[]): { totals: Set<number>; copied: number } {
  const copies = progresses.flatMap(({ collectionCopy }) => (collectionCopy === null ? [] : [collectionCopy]));
  return {
    totals: new Set(copies.map((copy) => copy.estimatedTotalBytes)),
    copied: copies.reduce((sum, copy) => sum + copy.estimatedCopiedBytes, 0),
  };
}

async function load(fixture: Fixture): Promise<void> {
  const { client } = fixture.cluster0;
  await client.db('admin').command({ enableSharding: 'shop' });
  await client.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  const orders = Array.from({ length: 900 }, (_, n) => ({ n, text: 'x'.repeat(n) }));
  await client.db('shop').collection('orders').insertMany(orders);
  await client
    .db('shop')
    .collection('items')
    .insertMany(Array.from({ length: 70 }, (_, n) => ({ n })));
  await client.db('shop').createCollection('empty');
}

it.each(sampled(['direct', 'router'] as const))(
  'three instances copy what adds up to the total exactly, and no instance shows more than it (%s)',
  async (sourceAccess) => {
    await using fixture = await Fixture.open({ shards: 3 }, { shards: 3 }, anyReleases);
    await load(fixture);
    const board = new Board();
    await using first = await fixture.startInstance({ id: 'shard0', sourceAccess }, board.seat());
    await using second = await fixture.startInstance({ id: 'shard1', sourceAccess }, board.seat());
    await using third = await fixture.startInstance({ id: 'shard2', sourceAccess }, board.seat());
    const instances = [first, second, third];
    for (const instance of instances) await instance.accepted('start', startBody());

    const seen: Progress[][] = [];
    const now = (): Promise<Progress[]> => Promise.all(instances.map((instance) => instance.progress()));
    await expect
      .poll(async () => seen.push(await now()) > 0 && seen.at(-1)?.every(({ canCommit }) => canCommit), {
        interval: 20,
      })
      .toBe(true);
    for (const progresses of seen) {
      for (const { collectionCopy } of progresses)
        expect(collectionCopy?.estimatedCopiedBytes).toBeLessThanOrEqual(collectionCopy?.estimatedTotalBytes ?? 0);
    }
    await expect
      .poll(async () => copiesOf(await now()))
      .toSatisfy(({ totals, copied }: ReturnType<typeof copiesOf>) => totals.size === 1 && totals.has(copied));
    const { copied } = copiesOf(await now());
    const pipeline = [{ $group: { _id: null, bytes: { $sum: { $bsonSize: '$$ROOT' } } } }];
    const sizes = await Promise.all(
      ['orders', 'items'].map(
        async (name) =>
          (
            await fixture.cluster0.client.db('shop').collection(name).aggregate<{ bytes: number }>(pipeline).toArray()
          )[0]?.bytes ?? 0,
      ),
    );
    expect(copied).toBe(sizes.reduce((sum, bytes) => sum + bytes, 0));
  },
);
