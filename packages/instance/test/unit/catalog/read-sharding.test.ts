import { BSON } from 'mongodb';
import { expect, it } from 'vitest';
import { isShardedAs } from '../../../src/catalog/read-sharding.js';
import { FakeNodeClient } from '../fake-node-client.js';
import { never } from '../model/parts.js';

const uuid = 'ab'.repeat(16);
const sharded = { _id: 'shop.orders', uuid: new BSON.UUID(uuid) };
const dropped = { _id: 'shop.gone', uuid: new BSON.UUID(uuid), dropped: true };

it('a collection is sharded under the name that the config servers have', async () => {
  const router = new FakeNodeClient('router', {
    find: (_database, { filter }) => ({
      cursor: { id: 0, firstBatch: [sharded, dropped].filter(({ _id }) => _id === (filter as { _id: string })._id) },
    }),
  });
  const shown = (namespace: string, of = uuid): Promise<boolean> =>
    isShardedAs({ kind: 'sharded', router }, namespace, of, never);
  expect(await shown('shop.orders')).toBe(true);
  expect(await shown('shop.renamed')).toBe(false);
  expect(await shown('shop.gone')).toBe(false);
  expect(await shown('shop.orders', 'cd'.repeat(16))).toBe(false);
  expect(await isShardedAs({ kind: 'replicaSet', router }, 'shop.orders', uuid, never)).toBe(false);
});
