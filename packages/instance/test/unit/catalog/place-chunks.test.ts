import { BSON } from 'mongodb';
import { expect, it } from 'vitest';
import { findOwnZones, findZonesOfChunks } from '../../../src/catalog/place-chunks.js';
import { fakeCluster, FakeNodeClient } from '../fake-node-client.js';
import { never } from '../model/parts.js';

const bounds = { min: { _id: new BSON.MinKey() }, max: { _id: new BSON.MaxKey() } };
const answers = {
  find: (_database: string, { find }: { find?: unknown }) => ({
    cursor: {
      firstBatch:
        find === 'tags'
          ? [
              { ns: 'shop.orders', tag: 'convoy_a', ...bounds },
              { ns: 'convoy_metadata.fence', tag: 'convoy_metadata.fence.0', ...bounds },
              { ns: 'shop.orders', tag: 'europe', ...bounds },
            ]
          : [{ _id: 'a', tags: ['europe', 'convoy_a', 'convoy_metadata.fence.0'] }],
    },
  }),
};

it('zones of users and of the fence are not those that place chunks of collections', async () => {
  const destination = fakeCluster({ router: new FakeNodeClient('router', answers), shardIds: ['a'] });
  const found = await findZonesOfChunks(destination, never);
  expect([found.ranges.map(({ zone }) => zone), found.shards.map(({ zone }) => zone)]).toEqual([
    ['convoy_a'],
    ['convoy_a'],
  ]);
  const own = await findOwnZones(destination, never);
  expect([own.ranges.length, own.shards.length]).toEqual([2, 2]);
});
