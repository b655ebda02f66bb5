import type { HandOver } from '@convoy/api/contract/hand-over';
import { type ChangeStream, type Document, type MongoClient, Timestamp } from 'mongodb';
import { afterEach, expect, it } from 'vitest';
import { tokenTime } from '../../../src/cluster/change-stream.js';
import { timeOf } from '../../../src/cluster/cluster-time.js';
import { Fixture, type Shape } from '../contract/fixture.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { startBody } from '../contract/start-conditions.js';

let fixture: Fixture;

afterEach(() => fixture.close());

/** A change of a document, as it was written and as a consumer sees it. */
type Change = readonly [operation: string, id: number, n: number | null];

/** The error of a write that a block refuses. */
const writesBlockedCode = 371;

/** Writes one change after the other, and keeps those that a cluster has acknowledged. */
class Writer {
  readonly written: Change[] = [];
  #next = 0;

  /** Writes until the block of the cluster, or until `isOver`. */
  async write(client: MongoClient, isOver: () => boolean = () => false): Promise<void> {
    const orders = client.db('shop').collection<{ _id: number; n: number }>('orders');
    while (!isOver()) {
      const id = (this.#next += 1);
      try {
        await this.#change(['insert', id, 0], () => orders.insertOne({ _id: id, n: 0 }));
        await this.#change(['update', id, 1], () => orders.updateOne({ _id: id }, { $set: { n: 1 } }));
        if (id % 3 === 0) await this.#change(['delete', id, null], () => orders.deleteOne({ _id: id }));
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

/** The last change that a test writes. */
const marker: Change = ['insert', -1, 0];

function changeOf({ operationType, documentKey, fullDocument, updateDescription }: Document): Change {
  const fields = (fullDocument ?? (updateDescription as Document | undefined)?.updatedFields) as
    { n?: number } | undefined;
  return [String(operationType), (documentKey as { _id: number })._id, fields?.n ?? null];
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

  async readToMarker(stream: ChangeStream): Promise<void> {
    for (;;) {
      const change = await stream.tryNext();
      if (change === null) continue;
      if (changeOf(change)[1] === marker[1]) break;
      this.seen.push(changeOf(change));
    }
    await stream.close();
  }
}

async function handOverOf(instance: ServedInstance): Promise<HandOver> {
  const { handOver } = await instance.until('it has opened', (progress) => progress.handOver !== null);
  if (handOver === null) throw new Error('There is no hand-over.');
  return handOver;
}

/** Commits while a user writes to the source, and lets the user go on with the destination. */
async function crossOver(
  instance: ServedInstance,
  [source, destination]: readonly [Fixture['cluster0'], Fixture['cluster0']],
  from: ChangeStream,
): Promise<{ seen: Change[]; written: Change[] }> {
  const writer = new Writer();
  const consumer = new Consumer();
  const writing = writer.write(source.shopper);
  await expect.poll(() => writer.written.length).toBeGreaterThan(20);
  await instance.untilCanCommit();
  await instance.accepted('commit');
  await writing;
  await instance.until('it can be written', ({ canWrite }) => canWrite === true);
  const before = writer.written.length;
  await writer.write(destination.shopper, () => writer.written.length > before + 20);
  await instance.untilState('COMMITTED');
  const handOver = await handOverOf(instance);
  await consumer.readTo(from, handOver.source);
  const startAtOperationTime = new Timestamp(handOver.destination);
  const stream = destination.client.watch(pipeline, { startAtOperationTime, maxAwaitTimeMS: 200 });
  await destination.shopper
    .db('shop')
    .collection<{ _id: number; n: number }>('orders')
    .insertOne({ _id: marker[1], n: 0 });
  await consumer.readToMarker(stream);
  await destination.shopper.db('shop').collection<{ _id: number }>('orders').deleteMany({});
  return { seen: consumer.seen, written: writer.written };
}

/** A stream that is open on its cluster before anything is written. */
async function streamOf({ client }: Fixture['cluster0']): Promise<ChangeStream> {
  const stream = client.watch(pipeline, { maxAwaitTimeMS: 200 });
  await stream.tryNext();
  return stream;
}

it.each<[Shape, string]>([
  ['replicaSet', 'auto'],
  [{ shards: 2 }, 'router'],
])(
  'a consumer that crosses the cut-over sees every write once, and again after a reverse: %j',
  async (shape, sourceAccess) => {
    fixture = await Fixture.open(shape, shape, { cluster0: '8.0', cluster1: '8.0', withUsers: true });
    const { cluster0, cluster1 } = fixture;
    await cluster0.client.db('shop').createCollection('orders');
    if (shape !== 'replicaSet')
      await cluster0.client.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
    await using instance = await fixture.startInstance({ sourceAccess });
    await instance.accepted('start', startBody({ enableUserWriteBlocking: true, reversible: true }));
    await instance.untilCanCommit();
    const there = await crossOver(instance, [cluster0, cluster1], await streamOf(cluster0));
    expect(there.seen).toEqual(there.written);
    const way = await streamOf(cluster1);
    await instance.accepted('reverse');
    const back = await crossOver(instance, [cluster1, cluster0], way);
    expect(back.seen).toEqual(back.written);
  },
  600_000,
);
