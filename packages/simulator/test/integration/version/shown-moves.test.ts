import { type Document, MongoClient } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { startWholeCluster } from '../../../src/cluster/cluster.js';
import type { ReleaseSeries } from '../../../src/node/server-version.js';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const hang = 'moveChunkHangAtStep4';

async function connect(connectionString: string): Promise<MongoClient> {
  const client = await MongoClient.connect(connectionString);
  closers.push(() => client.close());
  return client;
}

/** A cluster of two shards whose first has both chunks of `db.c`, and a client of its router and of that shard. */
async function start(version: ReleaseSeries): Promise<{ router: MongoClient; donor: MongoClient }> {
  const cluster = await startWholeCluster({ shards: 2, version, balancerRoundMs: 0 });
  closers.push(() => cluster.close());
  const router = await connect(cluster.connectionString);
  const donor = await connect(`mongodb://${cluster.shards[0] ?? ''}/?directConnection=true`);
  const admin = router.db('admin');
  await admin.command({ enableSharding: 'db', primaryShard: 'shard0' });
  await admin.command({ shardCollection: 'db.c', key: { n: 1 } });
  await admin.command({ split: 'db.c', middle: { n: 0 } });
  return { router, donor };
}

/** What the two show while a chunk moves. */
async function lookDuringMove({ router, donor }: Awaited<ReturnType<typeof start>>): Promise<Document> {
  await donor.db('admin').command({ configureFailPoint: hang, mode: 'alwaysOn' });
  const moved = router.db('admin').command({ moveChunk: 'db.c', find: { n: 1 }, to: 'shard1' });
  await donor.db('admin').command({ waitForFailPoint: hang, timesEntered: 1, maxTimeMS: 30_000 });
  const shown = {
    operations: await router
      .db('admin')
      .aggregate([{ $currentOp: { allUsers: true, idleConnections: true } }])
      .toArray(),
    coordinators: await donor.db('config').collection('migrationCoordinators').find().toArray(),
    status: (await donor.db('admin').command({ serverStatus: 1 }))['sharding'] as unknown,
  };
  await donor.db('admin').command({ configureFailPoint: hang, mode: 'off' });
  await moved;
  return shown;
}

describe('a move of a chunk that is under way', () => {
  it('is shown by its donor in 8.0, and no longer when it has ended', async () => {
    const stage = await start('8.0');
    const { operations, coordinators, status } = await lookDuringMove(stage);
    expect(operations).toContainEqual(
      expect.objectContaining({ shard: 'shard0', desc: 'MoveChunk', op: 'none', msg: 'step 4 of 6' }),
    );
    expect(operations).toContainEqual(
      expect.objectContaining({
        shard: 'shard0',
        ns: 'admin.$cmd',
        command: expect.objectContaining({ _shardsvrMoveRange: 'db.c', toShard: 'shard1', min: { n: 0 } }) as unknown,
      }),
    );
    expect(coordinators).toMatchObject([
      { nss: 'db.c', donorShardId: 'shard0', recipientShardId: 'shard1', range: { min: { n: 0 } } },
    ]);
    expect(status).toMatchObject({
      migrations: { source: 'shard0', destination: 'shard1', isDonorShard: true, collection: 'db.c' },
    });
    const after = await stage.router
      .db('admin')
      .aggregate([{ $currentOp: { allUsers: true } }])
      .toArray();
    expect(after.filter(({ desc }) => desc === 'MoveChunk')).toEqual([]);
    expect(await stage.donor.db('config').collection('migrationCoordinators').countDocuments()).toBe(0);
  });

  it('is not shown so before 8.0', async () => {
    const { operations, coordinators, status } = await lookDuringMove(await start('7.0'));
    expect((operations as Document[]).filter(({ desc }) => desc === 'MoveChunk')).toEqual([]);
    expect(coordinators).toEqual([]);
    expect(status).not.toHaveProperty('migrations');
  });
});

it('stopping and starting the balancer changes the setting of the AutoMerger too, since 8.0', async () => {
  const { router } = await start('8.0');
  const setting = (): Promise<Document | null> =>
    router.db('config').collection<{ _id: string }>('settings').findOne({ _id: 'automerge' });
  await router.db('admin').command({ balancerStop: 1 });
  expect(await setting()).toEqual({ _id: 'automerge', enabled: false });
  await router.db('admin').command({ balancerStart: 1 });
  expect(await setting()).toEqual({ _id: 'automerge', enabled: true });
});
