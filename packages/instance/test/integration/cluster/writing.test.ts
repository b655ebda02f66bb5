import { randomBytes } from 'node:crypto';
import { Binary, BSON, type Document, Long, Timestamp } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { deleteStatement, replaceStatement } from '../../../src/bson/build.js';
import { documentBytesMax } from '../../../src/cluster/driver/write-command.js';
import { kindOfCode, objectTooLargeCode } from '../../../src/cluster/failure.js';
import type { RawWrite } from '../../../src/cluster/node-client.js';
import { openCluster } from '../../../src/cluster/open-cluster.js';
import { clusterFailures } from '../../../src/cluster/connection-failure.js';
import { retrying, retryPolicy } from '../../../src/async/retry.js';
import { SplitCluster } from './split-cluster.js';

const epoch = 1n << 32n;

function insertOf(documents: Document[], ordered = false): RawWrite {
  return {
    database: 'db',
    collection: 'coll',
    kind: 'insert',
    statements: documents.map((document) => BSON.serialize(document)),
    ordered,
  };
}

function updateOf(statements: Document[]): RawWrite {
  return {
    database: 'db',
    collection: 'coll',
    kind: 'update',
    statements: statements.map((statement) => BSON.serialize(statement)),
    ordered: false,
  };
}

async function contents({ cluster, signal }: SplitCluster): Promise<Document[]> {
  const reply = await cluster.router.command('db', { find: 'coll', sort: { _id: 1 }, batchSize: 1_000 }, { signal });
  return (reply['cursor'] as { firstBatch: Document[] }).firstBatch;
}

describe('bulk writes through the router', () => {
  test('insert, replace and delete by ready-made statements', async () => {
    await using servers = await SplitCluster.start({ direct: false });
    const { cluster, signal } = servers;
    const documents = [
      { _id: 1, sk: -1 },
      { _id: 2, sk: 1 },
    ];
    expect(await cluster.router.write(insertOf(documents), null, { signal })).toMatchObject({ n: 2, failures: [] });
    const special = BSON.serialize(
      new Map<string, unknown>([
        ['_id', 2],
        ['sk', 1],
        ['a.b', 1],
        ['$c', 2],
        ['time', new Timestamp(0n)],
        ['10', 1],
      ]),
    );
    const filter = (sk: number, _id: number) => BSON.serialize({ sk, _id });
    const replace = { database: 'db', collection: 'coll', kind: 'update', ordered: false } as const;
    const statements = [
      replaceStatement(filter(1, 2), special),
      replaceStatement(filter(5, 3), BSON.serialize({ _id: 3, sk: 5 })),
    ];
    expect(await cluster.router.write({ ...replace, statements }, null, { signal })).toMatchObject({
      n: 2,
      nModified: 1,
      upserted: 1,
      failures: [],
    });
    const removal = await cluster.router.write(
      { ...replace, kind: 'delete', statements: [deleteStatement(filter(-1, 1)), deleteStatement(filter(9, 9))] },
      null,
      { signal },
    );
    expect(removal).toMatchObject({ n: 1, failures: [] });
    const cursor = await cluster.router.openCursor('db', { find: 'coll', filter: { _id: 2 } }, { signal });
    expect(Buffer.from(cursor.first.documents[0] ?? []).toString('hex')).toBe(Buffer.from(special).toString('hex'));
    expect((await contents(servers)).map(({ _id }) => _id as number)).toEqual([2, 3]);
  });

  test('return duplicate keys as failures of their statements', async () => {
    await using servers = await SplitCluster.start({ direct: false });
    const { cluster, signal } = servers;
    await servers.insert({ _id: 1, sk: 1 });
    const outcome = await cluster.router.write(
      insertOf([
        { _id: 0, sk: 1 },
        { _id: 1, sk: 2 },
        { _id: 2, sk: 3 },
      ]),
      null,
      { signal },
    );
    expect(outcome.n).toBe(2);
    expect(outcome.failures.map(({ index, code }) => [index, kindOfCode(code)])).toEqual([[1, 'duplicateKey']]);
    expect(outcome.failures[0]?.keyPattern).toEqual({ _id: 1 });
  });

  test('return documents that are too large as failures of their statements', async () => {
    await using servers = await SplitCluster.start({ direct: false });
    const { cluster, signal } = servers;
    const outcome = await cluster.router.write(
      insertOf([{ _id: 0, sk: 1, text: 'x'.repeat(documentBytesMax) }]),
      null,
      { signal },
    );
    expect(outcome).toMatchObject({ n: 0, failures: [{ index: 0, code: objectTooLargeCode }] });
  });
});

describe('a write with a ticket', () => {
  test('takes effect once, however often it is sent', async () => {
    await using servers = await SplitCluster.start({ direct: false });
    const { cluster, signal } = servers;
    await servers.insert({ _id: 1, sk: -1, v: 0 }, { _id: 2, sk: 1, v: 0 });
    const increments = updateOf([
      { q: { sk: -1, _id: 1 }, u: { $inc: { v: 1 } } },
      { q: { sk: 1, _id: 2 }, u: { $inc: { v: 1 } } },
    ]);
    const ticket = { lsid: randomBytes(16), txnNumber: epoch + 1n };
    for (let time = 0; time < 3; time += 1) {
      expect(await cluster.router.write(increments, ticket, { signal })).toMatchObject({ n: 2, failures: [] });
    }
    expect((await contents(servers)).map(({ v }) => v as number)).toEqual([1, 1]);
  });

  test('is refused once a higher epoch has written in its session, on the shards that saw it', async () => {
    await using servers = await SplitCluster.start({ direct: false });
    const { cluster, signal } = servers;
    const lsid = randomBytes(16);
    await servers.insert({ _id: 2, sk: 1 });
    await cluster.router.write(
      updateOf([{ q: { sk: 1, _id: 2 }, u: { $set: { epoch: 2 } } }]),
      { lsid, txnNumber: 2n * epoch },
      { signal },
    );
    const late = await cluster.router.write(
      insertOf([
        { _id: -5, sk: -5 },
        { _id: 5, sk: 5 },
      ]),
      { lsid, txnNumber: epoch + 9n },
      { signal },
    );
    expect(late.n).toBe(1);
    expect(late.failures.map(({ index, code }) => [index, kindOfCode(code)])).toEqual([[1, 'staleEpoch']]);
  });

  test('keeps its fence when the process that wrote it has gone', async () => {
    await using servers = await SplitCluster.start({ direct: false });
    const { cluster, signal } = servers;
    const lsid = randomBytes(16);
    const successor = await openCluster('cluster0', servers.connectionString, { direct: false, signal });
    await successor.router.write(insertOf([{ _id: 1, sk: 1 }]), { lsid, txnNumber: 2n * epoch }, { signal });
    await successor.close();
    await cluster.router.command('admin', { refreshSessions: [{ id: new Binary(lsid, 4) }] }, { signal });
    const late = await cluster.router.write(insertOf([{ _id: 2, sk: 1 }]), { lsid, txnNumber: epoch }, { signal });
    expect(late.failures.map(({ code }) => kindOfCode(code))).toEqual(['staleEpoch']);
  });

  test('is sent again after a lost connection, through another router too', async () => {
    await using servers = await SplitCluster.start({ direct: false, routers: 2 });
    const { cluster, signal } = servers;
    await servers.insert({ _id: 1, sk: -1, v: 0 });
    await servers.admin({
      configureFailPoint: 'failCommand',
      mode: { times: 1 },
      data: { failCommands: ['update'], closeConnection: true },
    });
    const increment = updateOf([{ q: { sk: -1, _id: 1 }, u: { $inc: { v: 1 } } }]);
    const ticket = { lsid: randomBytes(16), txnNumber: epoch };
    const tries: number[] = [];
    const outcome = await retrying(
      'the write',
      retryPolicy({ failures: clusterFailures, onRetry: ({ attempt }) => tries.push(attempt) }),
      signal,
      () => cluster.router.write(increment, ticket, { signal }),
    );
    expect(outcome).toMatchObject({ n: 1, failures: [] });
    expect(tries).toEqual([1]);
    expect((await contents(servers)).map(({ v }) => v as number)).toEqual([1]);
  });
});

test('a transaction runs in the session that its commands name', async () => {
  await using servers = await SplitCluster.start({ direct: false });
  const { cluster, signal } = servers;
  // A shard without any contact with a chunk since it got it aborts transactions over several shards.
  await contents(servers);
  const session = {
    lsid: { id: new Binary(randomBytes(16), 4) },
    txnNumber: Long.fromBigInt(epoch),
    autocommit: false,
  };
  const insert = {
    insert: 'coll',
    documents: [
      { _id: 1, sk: -1 },
      { _id: 2, sk: 1 },
    ],
  };
  await cluster.router.command('db', { ...insert, startTransaction: true, ...session }, { signal });
  expect(await contents(servers)).toEqual([]);
  await cluster.router.command(
    'admin',
    { commitTransaction: 1, writeConcern: { w: 'majority' }, ...session },
    { signal },
  );
  // The reply comes once the commit is decided, before every shard has executed it.
  await expect.poll(() => contents(servers)).toHaveLength(2);
});
