import { type ClientSession, type Collection, type Document, MaxKey, MinKey, MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startWholeCluster } from '../../src/cluster/cluster.js';
import type { ReleaseSeries } from '../../src/node/server-version.js';

const undecided = {
  $or: [{ 'transaction.parameters.autocommit': false }, { twoPhaseCommitCoordinator: { $exists: true } }],
};

/** Transactions of which one participant's commit is held back (fail point `hangBeforeCommitingTxn`). */
describe.each<ReleaseSeries>(['5.0', '6.0'])('held commits of %s', (version) => {
  let cluster: Cluster;
  let client: MongoClient;
  let held: MongoClient;
  let accounts: Collection<{ _id: number; balance: number }>;

  beforeAll(async () => {
    cluster = await startWholeCluster({ shards: 2, version, noopIntervalMs: 50 });
    client = await MongoClient.connect(cluster.connectionString);
    held = await MongoClient.connect(`mongodb://${cluster.shards[1] ?? ''}/?directConnection=true`);
    accounts = client.db('bank').collection('accounts');
    const admin = client.db('admin');
    for (const [zone, shard] of [
      ['low', 'shard0'],
      ['high', 'shard1'],
    ])
      await admin.command({ addShardToZone: shard, zone });
    await admin.command({ enableSharding: 'bank' });
    await admin.command({
      updateZoneKeyRange: 'bank.accounts',
      min: { _id: new MinKey() },
      max: { _id: 0 },
      zone: 'low',
    });
    await admin.command({
      updateZoneKeyRange: 'bank.accounts',
      min: { _id: 0 },
      max: { _id: new MaxKey() },
      zone: 'high',
    });
    await admin.command({ shardCollection: 'bank.accounts', key: { _id: 1 } });
    await accounts.insertMany([
      { _id: -1, balance: 100 },
      { _id: 1, balance: 100 },
    ]);
  });

  afterAll(async () => {
    await Promise.all([client.close(), held.close()]);
    await cluster.close();
  });

  const hold = (mode: 'alwaysOn' | 'off'): Promise<Document> =>
    held.db('admin').command({ configureFailPoint: 'hangBeforeCommitingTxn', mode });
  const balances = async (): Promise<number[]> =>
    (await accounts.find().sort({ _id: 1 }).toArray()).map(({ balance }) => balance);
  const shown = (): Promise<Document[]> =>
    client
      .db('admin')
      .aggregate([{ $currentOp: { allUsers: true } }, { $match: undecided }])
      .toArray();

  async function transfer(session: ClientSession): Promise<void> {
    session.startTransaction();
    await accounts.updateOne({ _id: -1 }, { $inc: { balance: -1 } }, { session });
    await accounts.updateOne({ _id: 1 }, { $inc: { balance: 1 } }, { session });
  }

  it('are answered once they are decided, before 6.0, and shown until all participants have committed', async () => {
    const session = client.startSession();
    try {
      await hold('alwaysOn');
      await transfer(session);
      const committed = session.commitTransaction();
      if (version === '5.0') await committed;
      await expect.poll(balances).toEqual([99, 100]);
      expect(await shown()).toEqual([
        expect.objectContaining({
          shard: 'shard0',
          twoPhaseCommitCoordinator: expect.objectContaining({ state: 'waitingForDecisionAck' }) as unknown,
        }),
        expect.objectContaining({
          shard: 'shard1',
          transaction: expect.objectContaining({ timePreparedMicros: expect.any(Number) as unknown }) as unknown,
        }),
      ]);
      cluster.member('shard1').stepDown(60);
      cluster.member('shard1').elect();
      expect((await shown()).map(({ shard }) => shard as string)).toEqual(['shard0', 'shard1']);
      await hold('off');
      await committed;
      await expect.poll(balances).toEqual([99, 101]);
      await expect.poll(shown).toEqual([]);
    } finally {
      await session.endSession();
    }
  });
});
