import { compileFunction } from 'node:vm';
import type { HandOver } from '@convoy/api/contract/hand-over';
import { type ChangeStream, type Document, type MongoClient, Timestamp } from 'mongodb';
import { afterEach, expect, it } from 'vitest';
import { tokenTime } from '../../../src/cluster/change-stream.js';
import { timeOf } from '../../../src/cluster/cluster-time.js';
import { Fixture, readsShards, type Shape } from '../contract/fixture.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { startBody } from '../contract/start-conditions.js';
import { readText } from '../../../../../test/source-tree.js';

let fixture: Fixture;

afterEach(() => fixture.close());

/** A change of a document, as it was written and as a consumer sees it. */
type Change = readonly [operation: string, database: string, id: number, n: number | null];

/** A cluster with the database that has the orders there. */
interface Shop {
  readonly side: Fixture['cluster0'];
  readonly database: string;
}

interface Order {
  readonly _id: number;
  readonly n: number;
}

const ordersOf = (client: MongoClient, database: string) => client.db(database).collection<Order>('orders');

/** The error of a write that a block refuses. */
const writesBlockedCode = 371;

/** Writes one change after the other, and keeps those that a cluster has acknowledged. */
class Writer {
  readonly written: Change[] = [];
  #next = 0;

  /** Writes until the block of the cluster, or until `isOver`. */
  async write({ side, database }: Shop, isOver: () => boolean): Promise<void> {
    const orders = ordersOf(side.shopper, database);
    while (!isOver()) {
      const id = (this.#next += 1);
      try {
        await this.#change(['insert', database, id, 0], () => orders.insertOne({ _id: id, n: 0 }));
        await this.#change(['update', database, id, 1], () => orders.updateOne({ _id: id }, { $set: { n: 1 } }));
        if (id % 3 === 0) await this.#change(['delete', database, id, null], () => orders.deleteOne({ _id: id }));
      } catch (error) {
        if ((error as { code?: number }).code !== writesBlockedCode) throw error;
        return;
      }
    }
  }

  async #change(change: Change, send: () => Promise<unknown>): Promise<void> {
    await send();
    this.written.push(change);
  }
}

/** The id of the last document that a test writes. */
const lastId = -1;

function changeOf({ operationType, ns, documentKey, fullDocument, updateDescription }: Document): Change {
  const fields = (fullDocument ?? (updateDescription as Document | undefined)?.updatedFields) as
    { n?: number } | undefined;
  const { db } = ns as { db: string };
  return [String(operationType), db, (documentKey as Order)._id, fields?.n ?? null];
}

const pipeline = [
  {
    $match: { 'ns.db': { $ne: 'convoy_metadata' }, operationType: { $in: ['insert', 'update', 'replace', 'delete'] } },
  },
];

/** A consumer of a whole cluster's changes, as docs/guide/cut-over.md describes it. */
class Consumer {
  readonly seen: Change[] = [];

  /** Goes on until its position is at a time. */
  async readTo(stream: ChangeStream, time: HandOver['source']): Promise<void> {
    const end = timeOf(new Timestamp(time));
    for (;;) {
      const change = await stream.tryNext();
      if (change !== null) this.seen.push(changeOf(change));
      else if (tokenTime(String((stream.resumeToken as { _data: unknown })._data)) >= end) break;
    }
    await stream.close();
  }

  async readToLast(stream: ChangeStream): Promise<void> {
    for (;;) {
      const change = await stream.tryNext();
      if (change === null) continue;
      const [operation, database, id, n] = changeOf(change);
      if (id === lastId) break;
      this.seen.push([operation, database, id, n]);
    }
    await stream.close();
  }
}

async function handOverOf(instance: ServedInstance): Promise<HandOver> {
  const { handOver } = await instance.until('it has opened', (progress) => progress.handOver !== null);
  if (handOver === null) throw new Error('There is no hand-over.');
  return handOver;
}

const document = 'docs/guide/cut-over.md';

/** The stream that the example for drivers in the document opens on the destination. */
function streamOfExample(destination: MongoClient, handOver: HandOver): ChangeStream {
  const [, example = ''] = /With a driver.*\n+```js\n([\s\S]*?)```/.exec(readText(document)) ?? [];
  if (!example.includes('const stream =')) throw new Error(`${document} has no example for drivers`);
  const open = compileFunction(`${example}\nreturn stream;`, ['Timestamp', 'handOver', 'destination']);
  return (open as (...given: unknown[]) => ChangeStream)(Timestamp, handOver, destination);
}

/** Commits while a user writes to the source, and lets the user go on with the destination. */
async function crossOver(
  instance: ServedInstance,
  [source, destination]: readonly [Shop, Shop],
  from: ChangeStream,
  isBlocked: boolean,
): Promise<{ seen: Change[]; written: Change[] }> {
  const writer = new Writer();
  const consumer = new Consumer();
  const stopped = new AbortController();
  const writing = writer.write(source, () => stopped.signal.aborted);
  await expect.poll(() => writer.written.length).toBeGreaterThan(20);
  await instance.untilCanCommit();
  // Without a block, whoever commits stops the writers first.
  if (!isBlocked) {
    stopped.abort();
    await writing;
  }
  await instance.accepted('commit');
  await writing;
  await instance.until('it can be written', ({ canWrite }) => canWrite === true);
  const before = writer.written.length;
  await writer.write(destination, () => writer.written.length > before + 20);
  await instance.untilState('COMMITTED');
  const handOver = await handOverOf(instance);
  await consumer.readTo(from, handOver.source);
  const orders = ordersOf(destination.side.shopper, destination.database);
  await orders.insertOne({ _id: lastId, n: 0 });
  await consumer.readToLast(streamOfExample(destination.side.client, handOver));
  await orders.deleteMany({});
  return { seen: consumer.seen, written: writer.written };
}

/** A stream that is open on its cluster before anything is written. */
async function streamOf({ client }: Fixture['cluster0']): Promise<ChangeStream> {
  const stream = client.watch(pipeline, { maxAwaitTimeMS: 200 });
  await stream.tryNext();
  return stream;
}

/** A cut-over: topology, how the source is read, what the start asks for, and the database on the destination. */
interface Case {
  readonly shape: Shape;
  readonly sourceAccess: 'auto' | 'router' | 'direct';
  readonly start: Document;
  readonly database: string;
}

const bothWays = { enableUserWriteBlocking: true, reversible: true };
const otherName = { namespaceRemap: [{ from: { database: 'shop' }, to: { database: 'store' } }] };

it.each<Case>([
  { shape: 'replicaSet', sourceAccess: 'auto', start: bothWays, database: 'shop' },
  { shape: { shards: 2 }, sourceAccess: 'router', start: bothWays, database: 'shop' },
  { shape: { shards: 2 }, sourceAccess: 'direct', start: {}, database: 'shop' },
  {
    shape: 'replicaSet',
    sourceAccess: 'auto',
    start: { enableUserWriteBlocking: true, ...otherName },
    database: 'store',
  },
])(
  'a consumer that crosses the cut-over sees every write once, and again after a reverse: %j',
  async ({ shape, sourceAccess, start, database }) => {
    fixture = await Fixture.open(shape, shape, { cluster0: '8.0', cluster1: '8.0', withUsers: true });
    const { cluster0, cluster1 } = fixture;
    await cluster0.client.db('shop').createCollection('orders');
    if (shape !== 'replicaSet') await cluster0.shardCollection('shop.orders', { _id: 'hashed' });
    await using instance = await fixture.startInstance(sourceAccess === 'direct' ? readsShards : { sourceAccess });
    const isBlocked = start.enableUserWriteBlocking === true;
    await instance.accepted('start', startBody(start));
    await instance.untilCanCommit();
    const way = [
      { side: cluster0, database: 'shop' },
      { side: cluster1, database },
    ] as const;
    const there = await crossOver(instance, way, await streamOf(cluster0), isBlocked);
    expect(there.seen).toEqual(there.written);
    if (start.reversible !== true) return;
    const from = await streamOf(cluster1);
    await instance.accepted('reverse');
    const back = await crossOver(instance, [way[1], way[0]], from, isBlocked);
    expect(back.seen).toEqual(back.written);
  },
  600_000,
);
