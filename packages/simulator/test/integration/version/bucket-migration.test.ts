import {
  type ChangeStream,
  type ChangeStreamDocument,
  type Db,
  type Document,
  MongoClient,
  ObjectId,
  type Timestamp,
} from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { startWholeCluster } from '../../../src/cluster/cluster.js';
import type { ReleaseSeries } from '../../../src/node/server-version.js';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const first = 1_700_000_000_000;
/** Buckets are passed on with the types of their numbers. */
const exact = { promoteValues: false } as const;

async function clusterOf(version: ReleaseSeries, shards: number): Promise<MongoClient> {
  const cluster = await startWholeCluster({ shards, version, balancerRoundMs: 0 });
  closers.push(() => cluster.close());
  const client = await new MongoClient(cluster.connectionString).connect();
  closers.push(() => client.close());
  return client;
}

/** Inserts for a while: some series often, all of them now and then, backwards too. */
async function write(db: Db, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n += 1) {
    const at = (ms: number): Date => new Date(first + n * 60_000 + ms);
    const documents = [0, 1, 2].map((m) => ({
      t: at(-m * 1000),
      m: { device: (n * m) % 7, site: 'x' },
      v: n,
      w: n / 3,
    }));
    await db.collection('series').insertMany(documents);
    if (n % 5 === 0) await db.collection('series').deleteMany({ 'm.device': n % 7 });
  }
}

/** A migration of one time-series collection by its buckets: each is read again when an event names it. */
class BucketMigration {
  readonly #dirty = new Map<string, Document>();

  constructor(
    private readonly source: Db,
    private readonly destination: Db,
  ) {}

  async makeSeries(): Promise<void> {
    const [listed] = await this.source.listCollections({ name: 'series' }).toArray();
    const { options } = listed as { options?: Document };
    await this.destination.createCollection('series', options);
  }

  async copy(atClusterTime: Timestamp): Promise<void> {
    const find = {
      find: 'system.buckets.series',
      hint: { _id: 1 },
      min: { _id: new ObjectId('0'.repeat(24)) },
      sort: { _id: 1 },
    };
    const readConcern = { level: 'snapshot', atClusterTime };
    const { cursor } = await this.source.command({ ...find, readConcern, batchSize: 10_000 }, exact);
    for (const bucket of (cursor as { firstBatch: Document[] }).firstBatch) await this.#put(bucket);
  }

  note(event: ChangeStreamDocument): void {
    const { documentKey } = event as { documentKey?: Document };
    if (documentKey !== undefined) this.#dirty.set(String(documentKey['_id']), documentKey);
  }

  /** Brings what events have named to its present state. */
  async drain(): Promise<void> {
    for (const [id, key] of this.#dirty) {
      const filter = { _id: key['_id'] as never };
      const bucket = await this.source.collection('system.buckets.series').findOne(filter, exact);
      if (bucket === null) await this.destination.collection('system.buckets.series').deleteOne(filter);
      else await this.#put(bucket);
      this.#dirty.delete(id);
    }
  }

  async #put(bucket: Document): Promise<void> {
    const { control, meta, _id } = bucket as { control: { min: Document }; meta: unknown; _id: unknown };
    const q = { _id, meta, 'control.min.t': control.min['t'] as unknown };
    const u = [{ $replaceWith: { $literal: bucket } }];
    const reply = await this.destination.command({
      update: 'system.buckets.series',
      updates: [{ q, u, upsert: true }],
      bypassDocumentValidation: true,
    });
    expect(reply).not.toHaveProperty('writeErrors');
  }
}

async function bytesOf(db: Db): Promise<string[]> {
  const buckets = await db.collection('system.buckets.series').find({}, { raw: true }).toArray();
  return buckets.map((bucket) => Buffer.from(bucket as unknown as Uint8Array).toString('hex')).sort();
}

describe.each([
  ['6.0', '8.0'],
  ['7.0', '8.0'],
  ['8.0', '8.0'],
] as const)('buckets of %s', (older, newer) => {
  it(`reach other shards of ${newer} under writes, to the byte, and take measurements there`, async () => {
    const [from, to] = [await clusterOf(older, 2), await clusterOf(newer, 3)];
    const timeseries = { timeField: 't', metaField: 'm', granularity: 'minutes' };
    const shard = { shardCollection: 'iot.series', key: { m: 1 } };
    await from.db('admin').command({ ...shard, timeseries });
    await from.db('admin').command({ split: 'iot.system.buckets.series', middle: { meta: { device: 3 } } });
    const find = { meta: { device: 5, site: 'x' } };
    await from.db('admin').command({ moveChunk: 'iot.system.buckets.series', find, to: 'shard1' });
    const [source, destination] = [from.db('iot'), to.db('iot')];
    await write(source, 0, 20);
    const operationTime = (await source.command({ ping: 1 }))['operationTime'] as Timestamp;
    const pipeline = [
      { $match: { 'ns.coll': { $regex: '^system\\.buckets\\.(?!resharding\\.|tmp\\.agg_out\\.)' } } },
      { $project: { fullDocument: 0, updateDescription: 0 } },
    ];
    const stream = from.watch(pipeline, {
      showSystemEvents: true,
      startAtOperationTime: operationTime,
      maxAwaitTimeMS: 50,
    } as object);
    closers.push(() => stream.close());
    const migration = new BucketMigration(source, destination);
    await migration.makeSeries();
    await to.db('admin').command({ shardCollection: 'iot.series', key: { m: 'hashed' } });
    await write(source, 20, 10);
    await migration.copy(operationTime);
    await write(source, 30, 10);
    const end = (await source.command({ ping: 1 }))['operationTime'] as Timestamp;
    while (reached(stream) < end.toBigInt()) {
      const event = await stream.tryNext();
      if (event !== null) migration.note(event);
    }
    await migration.drain();
    expect(await bytesOf(destination)).toEqual(await bytesOf(source));
    const count = await destination.collection('series').countDocuments();
    expect(count).toBe(await source.collection('series').countDocuments());
    await write(destination, 41, 1);
    expect(await destination.collection('series').countDocuments()).toBe(count + 3);
  });
});

/** The time up to which a stream has shown all events, by its token. */
function reached({ resumeToken }: ChangeStream): bigint {
  const token = resumeToken as { _data: string } | null;
  return token === null ? 0n : BigInt(`0x${token._data.slice(2, 18)}`);
}
