import type { Document, MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import { Random } from '@convoy/cli/demo/random';
import { isFullRun, testSeed } from '../../../../../test/seed.js';
import { kindOfCode } from '../../../src/cluster/failure.js';
import { Fixture, type Side } from '../contract/fixture.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';

/** Servers say more with these, and a fail point alone cannot. */
const withMore: ReadonlySet<number> = new Set([249, 343, 13_388]);
const codeMax = 100_000;
const codes = Array.from({ length: codeMax }, (_, code) => code).filter(
  (code) => kindOfCode(code) === 'retryable' && !withMore.has(code),
);
/** A usual run has a sample of the codes, a full one all of them several times. */
const faults = isFullRun ? codes.length * 3 : 24;
/** A command that nobody sends meanwhile is not waited for. */
const hitWithin_ms = 1_500;

const reads = ['find', 'getMore', 'aggregate', 'listCollections', 'listIndexes', 'listDatabases'] as const;
const commands: Readonly<Record<'cluster0' | 'cluster1', readonly [string, ...string[]]>> = {
  cluster0: [...reads, 'appendOplogNote', 'serverStatus', 'getParameter'],
  cluster1: [
    ...(['insert', 'update', 'delete', 'create', 'createIndexes', 'dropIndexes', 'collMod', 'drop'] as const),
    ...(['renameCollection', 'refreshSessions', 'appendOplogNote'] as const),
    ...reads,
  ],
};

interface Row {
  _id: number;
  n: number;
  m?: number;
}

/** What users do between two faults: changes of documents and of definitions. */
async function change(client: MongoClient, round: number): Promise<void> {
  const shop = client.db('shop');
  const orders = shop.collection<Row>('orders');
  await orders.insertOne({ _id: 1_000 + round, n: round });
  await orders.updateMany({ n: { $lt: 5 } }, { $inc: { m: 1 } });
  await orders.deleteOne({ _id: round });
  const other = shop.collection<Row>('other');
  if (round % 6 === 0) await other.insertOne({ _id: round, n: round });
  if (round % 6 === 1) await other.createIndex({ n: 1 }, { name: 'n_1', expireAfterSeconds: 100_000 }, {});
  if (round % 6 === 2)
    await shop.command({ collMod: 'other', index: { name: 'n_1', expireAfterSeconds: 100_000 + round } });
  if (round % 6 === 3) await other.dropIndex('n_1');
  if (round % 6 === 4) await other.rename('renamed');
  if (round % 6 === 5) await shop.collection('renamed').drop();
}

/** Lets Convoy's next commands of one kind fail by a code. @returns whether one did */
async function fail({ client }: Side, command: string, errorCode: number, times: number): Promise<boolean> {
  const admin = client.db('admin');
  const point = { configureFailPoint: 'failCommand' } as const;
  const { count } = await admin.command({
    ...point,
    mode: { times },
    data: { failCommands: [command], errorCode, appName: 'convoy' },
  });
  const entered = { waitForFailPoint: 'failCommand', timesEntered: Number(count) + 1, maxTimeMS: hitWithin_ms };
  return admin.command(entered).then(
    () => true,
    () => false,
  );
}

/** Sends `start`, and again where it is refused because a call of its checks met the fault. */
async function startedAtLast(instance: ServedInstance): ReturnType<ServedInstance['command']> {
  const reply = await instance.command('start', startBody());
  if (reply.status !== 503) return reply;
  expect(reply.body).toMatchObject({ error: 'sourceUnavailable' } satisfies Document);
  return startedAtLast(instance);
}

it(`a migration goes on whatever passing code a server answers, and whichever command (seed ${testSeed})`, async () => {
  const random = new Random(testSeed);
  await using fixture = await Fixture.open('replicaSet', 'replicaSet');
  const { client } = fixture.cluster0;
  const rows = Array.from({ length: 500 }, (_, _id): Row => ({ _id, n: _id % 50 }));
  await client.db('shop').collection<Row>('orders').insertMany(rows);
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  const tried: string[] = [];
  const strike = async (round: number): Promise<boolean> => {
    const name = random.pick(['cluster0', 'cluster1'] as const);
    const command = random.pick(commands[name]);
    const code = isFullRun ? (codes[round % codes.length] ?? 0) : (codes[random.below(codes.length)] ?? 0);
    const hits = await fail(fixture[name], command, code, 1 + random.below(2));
    if (hits) tried.push(`${name} ${command} ${code}`);
    return hits;
  };
  const started = startedAtLast(instance);
  await strike(0);
  expect(await started).toMatchObject({ status: 200 } satisfies Document);
  for (let round = 1; round < faults; round += 1) {
    const struck = strike(round);
    await change(client, round);
    await struck;
    // Names what has been tried if the migration has failed.
    const { body } = await instance.progressReply();
    expect([body.error, body.errorDescription, tried.slice(-3)]).toEqual([undefined, undefined, tried.slice(-3)]);
  }
  expect(tried.length).toBeGreaterThan(faults / 3);
  await instance.untilCanCommit();
  const struck = strike(faults);
  await instance.commitWhenOffered();
  await struck;
  await expectEqualDatabases(fixture, 'shop');
});
