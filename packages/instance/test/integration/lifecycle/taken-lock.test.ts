import { MongoClient, type Document } from 'mongodb';
import { expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';

it('a migration continues although its source answers notes with LockFailed for a while', async () => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
  const { shards } = await fixture.cluster0.client.db('admin').command({ listShards: 1 });
  const [host] = (shards as { host: string }[]).map((shard) => shard.host.split('/').at(-1) ?? '');
  const shard = await MongoClient.connect(`mongodb://${host ?? ''}/?directConnection=true`);
  try {
    const data = { failCommands: ['appendOplogNote'], errorCode: 107 };
    const takeLock = (): Promise<Document> =>
      shard.db('admin').command({ configureFailPoint: 'failCommand', mode: { times: 3 }, data });
    await fixture.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
    await takeLock();
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await takeLock();
    await instance.accepted('commit');
    await instance.untilState('COMMITTED');
    expect(await fixture.cluster1.client.db('shop').collection('orders').countDocuments()).toBe(1);
  } finally {
    await shard.close();
  }
});
