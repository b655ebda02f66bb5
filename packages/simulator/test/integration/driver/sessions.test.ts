import { type ClientSession, type CommandStartedEvent, MongoClient, MongoServerError } from 'mongodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DrivenCluster, failCommand } from './driven-cluster.js';

interface Item {
  _id: number;
  k: number;
  v?: number;
}

describe('sessions and transactions of the official driver', () => {
  let driven: DrivenCluster;
  let client: MongoClient;
  const sent: CommandStartedEvent[] = [];

  beforeAll(async () => {
    driven = await DrivenCluster.start();
    client = await driven.connect({ monitorCommands: true });
    client.on('commandStarted', (event) => sent.push(event));
    await driven.shard(client, 'sessions', 'c');
  });
  beforeEach(async () => {
    await collection().deleteMany({});
    sent.length = 0;
  });
  afterAll(() => driven[Symbol.asyncDispose]());

  const collection = () => client.db('sessions').collection<Item>('c');
  const commands = (name: string) => sent.filter(({ commandName }) => commandName === name);

  it('a causally consistent session reads what it wrote, on another router too', async () => {
    const session = client.startSession({ causalConsistency: true });
    await collection().insertOne({ _id: 1, k: 1 }, { session });
    expect(await collection().findOne({ _id: 1 }, { session })).toEqual({ _id: 1, k: 1 });
    const [find] = commands('find');
    expect(find?.command['readConcern']).toEqual({ afterClusterTime: expect.anything() as unknown });
    await session.endSession();
  });

  it('a snapshot session reads at the time of its first read', async () => {
    await collection().insertMany([
      { _id: 1, k: -1 },
      { _id: 2, k: 1 },
    ]);
    const session = client.startSession({ snapshot: true });
    expect(await collection().find({}, { session }).toArray()).toHaveLength(2);
    await collection().insertOne({ _id: 3, k: 2 });
    await collection().deleteOne({ _id: 1 });
    expect((await collection().find({}, { session }).sort({ _id: 1 }).toArray()).map(({ _id }) => _id)).toEqual([1, 2]);
    expect(
      await collection()
        .aggregate([{ $count: 'n' }], { session })
        .toArray(),
    ).toEqual([{ n: 2 }]);
    expect((await collection().distinct('_id', {}, { session })).sort()).toEqual([1, 2]);
    await session.endSession();
    expect(await collection().countDocuments()).toBe(2);
  });

  it('a transaction over shards is seen whole or not at all', async () => {
    await client.withSession(async (session) => {
      session.startTransaction();
      await collection().insertMany(
        [
          { _id: 1, k: -1 },
          { _id: 2, k: 1 },
        ],
        { session },
      );
      expect(await collection().countDocuments()).toBe(0);
      await session.commitTransaction();
      expect(await collection().countDocuments()).toBe(2);
      session.startTransaction();
      await collection().deleteMany({}, { session });
      await session.abortTransaction();
    });
    expect(await collection().countDocuments()).toBe(2);
  });

  it('withTransaction begins again after a TransientTransactionError', async () => {
    await failCommand(
      client,
      { times: 1 },
      { failCommands: ['insert'], errorCode: 112, errorLabels: ['TransientTransactionError'] },
    );
    let attempts = 0;
    await client.withSession((session) =>
      session.withTransaction(async () => {
        attempts += 1;
        await collection().insertOne({ _id: attempts, k: attempts }, { session });
      }),
    );
    expect(attempts).toBe(2);
    expect(await collection().find().toArray()).toEqual([{ _id: 2, k: 2 }]);
  });

  it('withTransaction commits again when the answer was lost', async () => {
    await failCommand(client, { times: 1 }, { failCommands: ['commitTransaction'], closeConnection: true });
    await client.withSession((session) =>
      session.withTransaction(() => collection().insertOne({ _id: 1, k: 1 }, { session })),
    );
    expect(commands('commitTransaction')).toHaveLength(2);
    expect(commands('commitTransaction')[1]?.command['writeConcern']).toMatchObject({ w: 'majority' });
    expect(await collection().countDocuments()).toBe(1);
  });

  it('the second of two conflicting transactions fails and may begin again', async () => {
    await collection().insertOne({ _id: 1, k: 1, v: 0 });
    const [one, two] = [client.startSession(), client.startSession()];
    const increment = (session: ClientSession) => collection().updateOne({ k: 1 }, { $inc: { v: 1 } }, { session });
    one.startTransaction();
    two.startTransaction();
    await increment(one);
    const failure = await increment(two).catch((error: unknown) => error as MongoServerError);
    expect(failure).toMatchObject({ code: 112 });
    expect((failure as MongoServerError).hasErrorLabel('TransientTransactionError')).toBe(true);
    await one.commitTransaction();
    await two.abortTransaction();
    await two.withTransaction(() => increment(two));
    expect((await collection().findOne({ k: 1 }))?.v).toBe(2);
    await Promise.all([one.endSession(), two.endSession()]);
  });

  it('unacknowledged writes in transactions and other misuse fail in the driver or the server alike', async () => {
    const session = client.startSession();
    session.startTransaction();
    await collection().insertOne({ _id: 1, k: 1 }, { session });
    await expect(client.db('admin').command({ listDatabases: 1 }, { session })).rejects.toMatchObject({ code: 263 });
    await session.endSession();
    expect(await collection().countDocuments()).toBe(0);
  });
});
