import { type ClientSession, type Collection, type Document, MongoClient } from 'mongodb';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { transactionsWarning } from '../../../src/lifecycle/leader/late-writes.js';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';

interface Account {
  _id: number;
  balance: number;
}

let fixture: Fixture;
/** A client of the shard that owns the accounts above 0. */
let upper: MongoClient;

beforeEach(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
  const admin = fixture.cluster0.client.db('admin');
  const { shards } = await admin.command({ listShards: 1 });
  const [first, second] = (shards as { _id: string; host: string }[]).sort((a, b) => (a._id < b._id ? -1 : 1));
  if (first === undefined || second === undefined) throw new Error('The source has two shards.');
  await admin.command({ enableSharding: 'bank', primaryShard: first._id });
  await admin.command({ shardCollection: 'bank.accounts', key: { _id: 1 } });
  await admin.command({ split: 'bank.accounts', middle: { _id: 0 } });
  await admin.command({ moveChunk: 'bank.accounts', find: { _id: 1 }, to: second._id, _waitForDelete: true });
  upper = await MongoClient.connect(`mongodb://${second.host.split('/').at(-1) ?? ''}/?directConnection=true`);
});

afterEach(async () => {
  await upper.close();
  await fixture.close();
});

function holdCommits(mode: 'alwaysOn' | 'off'): Promise<Document> {
  return upper.db('admin').command({ configureFailPoint: 'hangBeforeCommitingTxn', mode });
}

function accountsOf(client: MongoClient): Collection<Account> {
  return client.db('bank').collection<Account>('accounts');
}

async function transfer(session: ClientSession): Promise<void> {
  const accounts = accountsOf(fixture.cluster0.client);
  session.startTransaction();
  await accounts.updateOne({ _id: -1 }, { $inc: { balance: -50 } }, { session });
  await accounts.updateOne({ _id: 1 }, { $inc: { balance: 50 } }, { session });
}

it('a transaction that one shard has committed and another has not is awaited, and arrives complete', async () => {
  await accountsOf(fixture.cluster0.client).insertMany([
    { _id: -1, balance: 100 },
    { _id: 1, balance: 100 },
  ]);
  await using instance = await fixture.startInstance();
  await using session = fixture.cluster0.client.startSession();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await holdCommits('alwaysOn');
  await transfer(session);
  // 5.0 replies once it is decided; later releases only when all have committed.
  const committed = session.commitTransaction();
  await expect.poll(() => accountsOf(fixture.cluster0.client).findOne({ _id: -1 })).toMatchObject({ balance: 50 });
  await instance.accepted('commit');
  const isRequested = ({ warnings }: { warnings: { name: string }[] | null }): boolean =>
    warnings?.some(({ name }) => name === transactionsWarning) ?? false;
  const waiting = await instance.until(
    'the transaction holds the commit',
    (progress) => isRequested(progress) || progress.state === 'COMMITTED',
  );
  expect([waiting.state, waiting.canWrite]).toEqual(['COMMITTING', false]);
  await holdCommits('off');
  await committed;
  const done = await instance.untilState('COMMITTED');
  expect(isRequested(done)).toBe(false);
  expect(await accountsOf(fixture.cluster1.client).find().sort({ _id: 1 }).toArray()).toEqual([
    { _id: -1, balance: 50 },
    { _id: 1, balance: 150 },
  ]);
});
