import { type Binary, BSON, type Document } from 'mongodb';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type {
  ClusterClient,
  NodeClient,
  RawWrite,
  WriteOutcome,
  WriteTicket,
} from '../../../src/cluster/node-client.js';
import { kindOfCode } from '../../../src/cluster/failure.js';
import { openCluster } from '../../../src/cluster/open-cluster.js';
import { createFence, SessionFence } from '../../../src/store/fence.js';
import { FencedWriter } from '../../../src/store/fenced-writer.js';
import { Fixture } from './fixture.js';
import { startBody } from './start-conditions.js';

const { signal } = new AbortController();
/** Numbers of an epoch's writes start at its multiple of this. */
const numbersPerEpoch = 2n ** 32n;

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
});

afterAll(() => fixture.close());

async function taskRecord(): Promise<Document> {
  const task = await fixture.cluster1.client
    .db('convoy_metadata')
    .collection('tasks')
    .findOne({}, { promoteBuffers: false });
  if (task === null) throw new Error('no task');
  return task;
}

it('the servers refuse what a former process of an instance still sends, on every shard', async () => {
  const { client } = fixture.cluster0;
  const admin = client.db('admin');
  await admin.command({ enableSharding: 'shop', primaryShard: 'shard0' });
  await admin.command({ shardCollection: 'shop.orders', key: { sk: 1 } });
  await admin.command({ split: 'shop.orders', middle: { sk: 0 } });
  await admin.command({ moveChunk: 'shop.orders', find: { sk: 1 }, to: 'shard1' });
  await client
    .db('shop')
    .collection('orders')
    .insertMany([{ sk: -1 }, { sk: 1 }]);
  {
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
  }
  const former = await taskRecord();
  await using successor = await fixture.startInstance();
  await successor.untilCanCommit();
  expect((await taskRecord()).epoch).toBeGreaterThan(former.epoch as number);

  const destination = await openCluster('cluster1', fixture.cluster1.connectionString, { direct: false, signal });
  try {
    for (const session of former.sessions as Binary[]) {
      const statements = [-5, 5].map((sk) => BSON.serialize({ sk, late: true }));
      const ticket = {
        lsid: session.value(),
        txnNumber: BigInt(former.epoch as number) * numbersPerEpoch + 1_000_000n,
      };
      const late = await destination.router.write(
        { database: 'shop', collection: 'orders', kind: 'insert', statements, ordered: false },
        ticket,
        { signal },
      );
      expect(late.failures.map(({ code }) => kindOfCode(code))).toEqual(['staleEpoch', 'staleEpoch']);
    }
  } finally {
    await destination.close();
  }
  expect(await fixture.cluster1.client.db('shop').collection('orders').countDocuments({ late: true })).toBe(0);
});

/**
 * The first attempt of every data write is delayed: the client sees a lost connection, and a router still holds the
 * command.
 */
class LosingClient implements Pick<NodeClient, 'write' | 'command'> {
  readonly astray: (() => Promise<WriteOutcome>)[] = [];
  readonly #sent = new Set<bigint>();

  constructor(private readonly nodeClient: Pick<NodeClient, 'write' | 'command'>) {}

  command(...call: Parameters<NodeClient['command']>): Promise<Document> {
    return this.nodeClient.command(...call);
  }

  write(write: RawWrite, ticket: WriteTicket | null, options: { signal: AbortSignal }): Promise<WriteOutcome> {
    const send = (): Promise<WriteOutcome> => this.nodeClient.write(write, ticket, options);
    if (write.collection === 'fence' || ticket === null || this.#sent.has(ticket.txnNumber)) return send();
    this.#sent.add(ticket.txnNumber);
    this.astray.push(send);
    return Promise.reject(new Error('connection lost'));
  }
}

/** Writes that are each sent twice; only the second attempt arrives by itself. */
function losingWriter(destination: ClusterClient): { writer: FencedWriter; astray: LosingClient['astray'] } {
  const router = new LosingClient(destination.router);
  const twice = <T>(_what: string, operation: () => Promise<T>): Promise<T> => operation().catch(operation);
  const fence = new SessionFence({ router, shardIds: destination.shardIds }, twice);
  return {
    writer: new FencedWriter(router, twice, [randomBytes(16)], 1, () => Promise.resolve(), fence),
    astray: router.astray,
  };
}

function codesOf({ failures }: WriteOutcome): (string | null)[] {
  return failures.map(({ code }) => kindOfCode(code));
}

it('a delayed copy of a repeated write overwrites nothing newer, even if the other changed nothing', async () => {
  const documents = fixture.cluster1.client.db('late').collection<{ _id: number; v: number }>('documents');
  const destination = await openCluster('cluster1', fixture.cluster1.connectionString, { direct: false, signal });
  try {
    await createFence(destination.router, 'sharded', destination.shardIds, { signal });
    await documents.insertMany([{ _id: 1, v: 1 }]);
    const { writer, astray } = losingWriter(destination);
    const upsert = BSON.serialize({ q: { _id: 1 }, u: { _id: 1, v: 1 }, upsert: true });
    const remove = BSON.serialize({ q: { _id: 2 }, limit: 1 });
    await writer.write(
      { database: 'late', collection: 'documents', kind: 'update', statements: [upsert], ordered: false },
      signal,
    );
    await writer.write(
      { database: 'late', collection: 'documents', kind: 'delete', statements: [remove], ordered: false },
      signal,
    );
    await documents.updateOne({ _id: 1 }, { $set: { v: 2 } });
    await documents.insertOne({ _id: 2, v: 2 });
    const late = await Promise.all(astray.map((send) => send()));
    expect(late.map(codesOf)).toEqual([['staleEpoch'], ['staleEpoch']]);
    expect(await documents.find().sort({ _id: 1 }).toArray()).toEqual([
      { _id: 1, v: 2 },
      { _id: 2, v: 2 },
    ]);
  } finally {
    await destination.close();
  }
});

it('a delayed copy of a repeated write reaches no collection recreated on another shard', async () => {
  const { client } = fixture.cluster1;
  const destination = await openCluster('cluster1', fixture.cluster1.connectionString, { direct: false, signal });
  try {
    await createFence(destination.router, 'sharded', destination.shardIds, { signal });
    const [first = '', second = first] = destination.shardIds;
    await client.db('admin').command({ enableSharding: 'remade', primaryShard: first });
    const { writer, astray } = losingWriter(destination);
    await writer.write(
      {
        database: 'remade',
        collection: 'documents',
        kind: 'insert',
        statements: [BSON.serialize({ _id: 1 })],
        ordered: false,
      },
      signal,
    );
    await client.db('remade').dropDatabase();
    await client.db('admin').command({ enableSharding: 'remade', primaryShard: second });
    await client.db('remade').createCollection('documents');
    expect(await Promise.all(astray.map(async (send) => codesOf(await send())))).toEqual([['staleEpoch']]);
    expect(await client.db('remade').collection('documents').countDocuments()).toBe(0);
  } finally {
    await destination.close();
  }
});
