import { BSON, type Binary, type Document } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { kindOfCode } from '../../../src/cluster/failure.js';
import { openCluster } from '../../../src/cluster/open-cluster.js';
import { Scene } from './scene.js';
import { startBody } from './start-conditions.js';

const { signal } = new AbortController();
/** Numbers of an epoch's writes begin at its multiple of this. */
const numbersPerEpoch = 2n ** 32n;

let scene: Scene;

beforeAll(async () => {
  scene = await Scene.open({ shards: 2 }, { shards: 2 });
});

afterAll(() => scene.close());

async function shareRecord(): Promise<Document> {
  const share = await scene.cluster1.client.db('convoy_metadata').collection('shares').findOne({}, { promoteBuffers: false });
  if (share === null) throw new Error('no share');
  return share;
}

it('the servers refuse what a former process of an instance still sends, on every shard', async () => {
  const { client } = scene.cluster0;
  const admin = client.db('admin');
  await admin.command({ enableSharding: 'shop', primaryShard: 'shard0' });
  await admin.command({ shardCollection: 'shop.orders', key: { sk: 1 } });
  await admin.command({ split: 'shop.orders', middle: { sk: 0 } });
  await admin.command({ moveChunk: 'shop.orders', find: { sk: 1 }, to: 'shard1' });
  await client.db('shop').collection('orders').insertMany([{ sk: -1 }, { sk: 1 }]);
  {
    await using instance = await scene.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
  }
  const former = await shareRecord();
  await using successor = await scene.startInstance();
  await successor.untilCanCommit();
  expect((await shareRecord()).epoch).toBeGreaterThan(former.epoch as number);

  const destination = await openCluster('cluster1', scene.cluster1.connectionString, { direct: false, signal });
  try {
    for (const session of former.sessions as Binary[]) {
      const statements = [-5, 5].map((sk) => BSON.serialize({ sk, late: true }));
      const ticket = { lsid: session.value(), txnNumber: BigInt(former.epoch as number) * numbersPerEpoch + 1_000_000n };
      const late = await destination.router.write({ database: 'shop', collection: 'orders', kind: 'insert', statements, ordered: false }, ticket, { signal });
      expect(late.failures.map(({ code }) => kindOfCode(code))).toEqual(['staleEpoch', 'staleEpoch']);
    }
  } finally {
    await destination.close();
  }
  expect(await scene.cluster1.client.db('shop').collection('orders').countDocuments({ late: true })).toBe(0);
});
