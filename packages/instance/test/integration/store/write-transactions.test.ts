import { randomBytes } from 'node:crypto';
import { BSON, type Document } from 'mongodb';
import { Random } from '@convoy/cli/demo/random';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { retryingFor } from '../../../src/async/retry.js';
import type { NodeClient, RawWrite } from '../../../src/cluster/node-client.js';
import { createFence, SessionFence } from '../../../src/store/fence.js';
import { engineFailures, FencedWriter } from '../../../src/store/fenced-writer.js';
import { openTestCluster, type TestCluster } from '../catalog/clusters.js';
import { testSeed } from '../../../../../test/seed.js';

const signal = AbortSignal.timeout(240_000);
const documents = 24;
const epoch = 5;
const retrying = retryingFor(60_000, engineFailures, () => undefined);

/** What happens to a call: it is lost, its answer is, or something happens before it. */
type Fault = 'call' | 'answer' | (() => Promise<unknown>);

/** Injects faults into the calls to begin transactions and to commit them. */
class FaultyClient implements Pick<NodeClient, 'write' | 'command'> {
  readonly calls: string[] = [];
  faultOf: (call: 'start' | 'commit') => Fault | undefined = () => undefined;
  /** The last beginning of a transaction, to be sent once more. */
  again: () => Promise<unknown> = () => Promise.resolve();

  constructor(private readonly inner: NodeClient) {}

  write(...[write, ticket, options]: Parameters<NodeClient['write']>): ReturnType<NodeClient['write']> {
    const send = (): ReturnType<NodeClient['write']> => this.inner.write(write, ticket, options);
    if (ticket?.beginsTransaction !== true) {
      this.calls.push('write');
      return send();
    }
    this.again = send;
    return this.#faulty('start', send);
  }

  command(...call: Parameters<NodeClient['command']>): Promise<Document> {
    const send = (): Promise<Document> => this.inner.command(...call);
    return call[1].commitTransaction === undefined ? send() : this.#faulty('commit', send);
  }

  async #faulty<T>(name: 'start' | 'commit', send: () => Promise<T>): Promise<T> {
    this.calls.push(name);
    const fault = this.faultOf(name);
    if (typeof fault === 'function') await fault();
    if (fault === 'call') throw lost();
    const answer = await send();
    if (fault === 'answer') throw lost();
    return answer;
  }
}

function lost(): Error {
  return Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' });
}

let cluster: TestCluster;
let collections = 0;

beforeAll(async () => {
  cluster = await openTestCluster('cluster1', 0, { direct: false });
  await createFence(cluster.cluster.router, 'replicaSet', cluster.cluster.shardIds, { signal });
});

afterAll(() => cluster[Symbol.asyncDispose]());

/** A new collection, and a writer in one session with a faulty client. */
async function counters() {
  const { client, cluster: destination } = cluster;
  const name = `counters${(collections += 1)}`;
  const collection = client.db('shop').collection<{ _id: number; n: number }>(name);
  await collection.insertMany(Array.from({ length: documents }, (_, _id) => ({ _id, n: 0 })));
  const faulty = new FaultyClient(destination.router);
  const session = randomBytes(16);
  const fence = new SessionFence(destination, retrying);
  const confirm = (): Promise<void> => Promise.resolve();
  const writerOf = (lsid: Buffer) => new FencedWriter(faulty, retrying, [lsid], epoch, confirm, fence, true);
  const statements = Array.from({ length: documents }, (_, _id) =>
    BSON.serialize({ q: { _id }, u: { $inc: { n: 1 } } }),
  );
  const count: RawWrite = { database: 'shop', collection: name, kind: 'update', statements, ordered: false };
  const counts = async (): Promise<number[]> =>
    [...new Set((await collection.find({}, { readConcern: 'majority' }).toArray()).map(({ n }) => n))].sort();
  return { faulty, fence, session, writer: writerOf(session), writerOf, count, counts, collection };
}

/** The set's only member steps down and takes office again; what it has not committed is gone. */
async function stepDown(): Promise<void> {
  const { router } = cluster.cluster;
  await router.command('admin', { replSetStepDown: 1, force: true }, { signal }).catch(() => undefined);
}

const once =
  (call: 'start' | 'commit', fault: Fault) =>
  (of: FaultyClient): void => {
    let left = 1;
    of.faultOf = (name) => (name === call && left-- > 0 ? fault : undefined);
  };

it('a write of many statements takes effect once', async () => {
  const { faulty, writer, count, counts } = await counters();
  expect(await writer.write(count, signal)).toMatchObject({ n: documents, nModified: documents, failures: [] });
  expect(faulty.calls).toEqual(['start', 'commit']);
  expect(await counts()).toEqual([1]);
});

it.each([
  ['its beginning does not arrive', once('start', 'call'), ['start', 'write']],
  ['the answer to its beginning is lost', once('start', 'answer'), ['start', 'write']],
  ['the primary steps down before its commit', once('commit', stepDown), ['start', 'commit']],
  ['its commit does not arrive', once('commit', 'call'), ['start', 'commit', 'commit']],
  ['the answer to its commit is lost', once('commit', 'answer'), ['start', 'commit', 'commit']],
])('it takes effect once when %s', async (_when, prepare, begins) => {
  const { faulty, writer, count, counts } = await counters();
  prepare(faulty);
  expect(await writer.write(count, signal)).toMatchObject({ n: documents, failures: [] });
  expect(faulty.calls.slice(0, begins.length)).toEqual(begins);
  expect(await counts()).toEqual([1]);
});

it('a late copy of its beginning changes nothing, and keeps nobody from writing', async () => {
  const { faulty, writer, count, counts } = await counters();
  once('start', 'call')(faulty);
  await writer.write(count, signal);
  await expect(faulty.again()).rejects.toMatchObject({ code: 225 });
  await writer.write(count, signal);
  expect(await counts()).toEqual([2]);
});

it('nothing of it remains where a statement is refused: the others are written apart', async () => {
  const { faulty, writer, count, counts, collection } = await counters();
  await collection.insertOne({ _id: documents, n: 0 });
  await collection.createIndex({ u: 1 }, { unique: true, sparse: true }, {});
  await collection.updateOne({ _id: documents }, { $set: { u: 1, n: 1 } });
  const clash = BSON.serialize({ q: { _id: 3 }, u: { $set: { u: 1 }, $inc: { n: 1 } } });
  const statements = count.statements.map((statement, at) => (at === 3 ? clash : statement));
  const outcome = await writer.write({ ...count, statements }, signal);
  expect(outcome.failures.map(({ index, code }) => [index, code])).toEqual([[3, 11000]]);
  expect(faulty.calls).toEqual(['start', 'write']);
  expect(await counts()).toEqual([0, 1]);
  expect(await collection.countDocuments({ n: 0 })).toBe(1);
});

it.each(['start', 'commit'] as const)('its %s is refused once another owner has fenced the session', async (call) => {
  const { faulty, fence, session, writer, count, counts } = await counters();
  once(call, () => fence.stopFormerOwner([session], epoch + 1, signal))(faulty);
  await expect(writer.write(count, signal)).rejects.toMatchObject({ error: 'staleEpoch' });
  expect(await counts()).toEqual([0]);
});

it(`each of many takes effect once, whatever is lost: seed ${testSeed}`, async () => {
  const random = new Random(testSeed);
  const { faulty, writerOf, count, counts } = await counters();
  faulty.faultOf = () => (random.next() < 0.4 ? random.pick<Fault>(['call', 'answer', stepDown]) : undefined);
  for (let written = 1; written <= 30; written += 1) {
    // After a refusal a writer writes apart for a while.
    await writerOf(randomBytes(16)).write(count, signal);
    expect(await counts()).toEqual([written]);
  }
});
