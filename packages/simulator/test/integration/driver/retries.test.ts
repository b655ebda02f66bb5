import type { CommandStartedEvent, Document, MongoClient } from 'mongodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DrivenCluster, failCommand } from './driven-cluster.js';

interface Item {
  _id: number;
  k: number;
  v?: number;
}

/**
 * Ways in which a router fails that the drivers' specifications call retryable; it labels no errors of its own accord.
 */
const failures: [string, Document][] = [
  ['a closed connection', { closeConnection: true }],
  ['a node that is no longer primary', { errorCode: 10107, errorLabels: ['RetryableWriteError'] }],
  ['a node that shuts down', { errorCode: 91, errorLabels: ['RetryableWriteError'] }],
];

describe('retries of the official driver', () => {
  let driven: DrivenCluster;
  let client: MongoClient;
  const sent: CommandStartedEvent[] = [];
  const pool: string[] = [];

  beforeAll(async () => {
    driven = await DrivenCluster.start();
    client = await driven.connect({ monitorCommands: true, heartbeatFrequencyMS: 500 });
    client.on('commandStarted', (event) => sent.push(event));
    for (const name of [
      'connectionPoolCleared',
      'connectionPoolReady',
      'connectionCheckedOut',
      'connectionClosed',
    ] as const)
      client.on(name, () => pool.push(name));
    await driven.shard(client, 'retries', 'c');
  });
  beforeEach(async () => {
    await collection().deleteMany({});
    await collection().insertMany([
      { _id: 1, k: -1, v: 0 },
      { _id: 2, k: 1, v: 0 },
    ]);
    sent.length = 0;
    pool.length = 0;
  });
  afterAll(() => driven[Symbol.asyncDispose]());

  const collection = () => client.db('retries').collection<Item>('c');
  const times = (name: string) => sent.filter(({ commandName }) => commandName === name).length;

  it.each(failures)('a read is sent again after %s', async (_, data) => {
    await failCommand(client, { times: 1 }, { failCommands: ['find'], ...data });
    expect(await collection().findOne({ k: 1 })).toMatchObject({ _id: 2 });
    expect(times('find')).toBe(2);
  });

  it.each(failures)('a write is sent again after %s, under the same number, and takes effect once', async (_, data) => {
    await failCommand(client, { times: 1 }, { failCommands: ['update'], ...data });
    await collection().updateOne({ k: 1 }, { $inc: { v: 1 } });
    const [first, second] = sent.filter(({ commandName }) => commandName === 'update');
    expect(second?.command['txnNumber']).toEqual(first?.command['txnNumber']);
    expect((await collection().findOne({ k: 1 }))?.v).toBe(1);
  });

  it('a shard labels its failures itself, and executes a write that is sent again once', async () => {
    const shard = await driven.connect(
      { heartbeatFrequencyMS: 500 },
      `mongodb://${driven.cluster.shards[1] ?? ''}/?directConnection=true`,
    );
    const direct = shard.db('retries').collection<Item>('c');
    await failCommand(shard, { times: 1 }, { failCommands: ['update'], errorCode: 91 });
    await direct.updateOne({ k: 1 }, { $inc: { v: 1 } });
    await failCommand(
      shard,
      { times: 1 },
      { failCommands: ['update'], writeConcernError: { code: 91, errmsg: 'Replication is being shut down' } },
    );
    await direct.updateOne({ k: 1 }, { $inc: { v: 1 } });
    expect((await direct.findOne({ k: 1 }))?.v).toBe(2);
  });

  it('the caller sees a second failure, and the first when retries are off', async () => {
    await failCommand(client, { times: 2 }, { failCommands: ['find', 'insert'], errorCode: 91 });
    await expect(collection().findOne()).rejects.toMatchObject({ code: 91 });
    const plain = await driven.connect({ retryReads: false, retryWrites: false, heartbeatFrequencyMS: 500 });
    await failCommand(client, { times: 1 }, { failCommands: ['find'], closeConnection: true });
    await expect(plain.db('retries').collection('c').findOne()).rejects.toThrow(/closed/);
  });

  it('reports a write concern error without undoing the write', async () => {
    await failCommand(
      client,
      { times: 1 },
      { failCommands: ['insert'], writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' } },
    );
    await expect(collection().insertOne({ _id: 9, k: 9 })).rejects.toMatchObject({
      result: { writeConcernError: { code: 64 } },
    });
    expect(await collection().findOne({ k: 9 })).toEqual({ _id: 9, k: 9 });
  });

  it('empties its pool after a network failure and fills it again', async () => {
    await failCommand(client, { times: 1 }, { failCommands: ['find'], closeConnection: true });
    await collection().findOne();
    expect(pool).toEqual(
      expect.arrayContaining([
        'connectionCheckedOut',
        'connectionPoolCleared',
        'connectionClosed',
        'connectionPoolReady',
      ]),
    );
    expect(pool.indexOf('connectionPoolCleared')).toBeLessThan(pool.indexOf('connectionPoolReady'));
  });

  it('gives up on an answer that takes too long, on either side', async () => {
    await failCommand(client, { times: 1 }, { failCommands: ['find'], blockConnection: true, blockTimeMS: 300 });
    const impatient = await driven.connect({ socketTimeoutMS: 50, retryReads: false });
    await expect(impatient.db('retries').collection('c').findOne()).rejects.toThrow(/timed out/);
    await failCommand(client, 'off', {});
    await expect(
      client.db('retries').command({ find: 'c', filter: { $where: 'sleep(50)' }, maxTimeMS: -1 }),
    ).rejects.toMatchObject({ ok: 0 });
  });
});
