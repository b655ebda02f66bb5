import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { type Collection, type Document, MongoClient } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isFullRun, testSeed } from '../../../../../test/seed.js';
import { openCluster } from '../../../src/cluster/open-cluster.js';
import { chooseOrder } from '../../../src/copy/plan-copy.js';
import { collectionOf } from '../../unit/model/parts.js';
import { Fixture } from '../contract/fixture.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from './equal-databases.js';

interface Order {
  _id: string;
  n: number;
  text: string;
}

/** Several batches of 1 MB on each shard. */
const orders = 900;
const text = 'x'.repeat(8_000);
/** Before, during and after the copy. */
const changesMax = isFullRun ? 900 : 450;
/** Slow enough for several pieces of a second. */
const slowly = { loadRateBytesPerSecond: 2 ** 20 };
const inNaturalOrder = [{ database: 'shop', collections: ['orders'] }];

const change = fc.record({
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  kind: fc.constantFrom('insert', 'set', 'unset', 'replace', 'delete', 'again', 'transaction'),
});
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
});

afterAll(() => fixture.close());
afterEach(() => fixture.clear());

const source = () => fixture.cluster0.client.db('shop').collection<Order>('orders');

async function load(): Promise<string[]> {
  const admin = fixture.cluster0.client.db('admin');
  await admin.command({ enableSharding: 'shop' });
  await admin.command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  const ids = Array.from({ length: orders }, () => randomUUID());
  await source().insertMany(
    ids.map((_id, n) => ({ _id, n, text })),
    { ordered: false },
  );
  return ids;
}

/** Changes a document: at the beginning or the end of the record order, or anywhere in it. */
async function carryOut(ids: string[], { at, kind }: Change): Promise<void> {
  const _id = ids[Math.floor(at * ids.length)] ?? '';
  const all = source();
  if (kind === 'insert') {
    ids.push(randomUUID());
    await all.insertOne({ _id: ids.at(-1) ?? '', n: 0, text: 'new' });
  } else if (kind === 'set') await all.updateOne({ _id }, { $inc: { n: 1 }, $set: { [`f${_id[0]}`]: 1 } });
  else if (kind === 'unset') await all.updateOne({ _id }, { $unset: { text: '' } });
  else if (kind === 'replace') await all.replaceOne({ _id }, { n: -1, text: 'replaced' });
  else if (kind === 'delete') await all.deleteOne({ _id });
  else if (kind === 'again') await deleteAndInsert(all, _id);
  else
    await fixture.cluster0.client.withSession((session) =>
      session.withTransaction(async () => {
        await all.updateOne({ _id }, { $inc: { n: 10 } }, { session });
        await all.updateOne({ _id: ids[ids.length >> 1] ?? '' }, { $set: { n: 5 } }, { session });
      }),
    );
}

/** The document gets another record. */
async function deleteAndInsert(all: Collection<Order>, _id: string): Promise<void> {
  await all.deleteOne({ _id });
  await all.insertOne({ _id, n: 0, text: 'again' });
}

/** The order with its reason, as each task has stored it, and whether its copy is still in pieces. */
async function storedOrders(): Promise<Document[]> {
  const stored = await fixture.cluster1.client
    .db('convoy_metadata')
    .collection('partitions')
    .find({ 'partitions.order': { $exists: true } })
    .toArray();
  return stored.map(({ partitions }) => (partitions as Document[])[0] ?? {});
}

async function untilPieces(instance: ServedInstance): Promise<void> {
  await instance.until('a piece is copied', ({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > 0);
  await expect.poll(async () => (await storedOrders()).some(isBetweenPieces)).toBe(true);
}

function isBetweenPieces({ scan }: Document): boolean {
  return ((scan as { tokens: unknown[] } | undefined)?.tokens ?? []).length > 0;
}

async function rereadsOf(url: string): Promise<number> {
  const exposed = await (await fetch(`${url}/metrics`)).text();
  return Number(/convoy_rereads_total\{reason="recordOrder"\} (\d+)/.exec(exposed)?.[1] ?? 0);
}

describe('copyInNaturalOrder', () => {
  it('ends with equal clusters while users write, and after a pause and an election during the copy', async () => {
    const ids = await load();
    const changes = fc.sample(change, { seed: testSeed, numRuns: changesMax });
    const next = async (part: number): Promise<void> => {
      for (const one of changes.splice(0, part * changesMax)) await carryOut(ids, one);
    };
    await using instance = await fixture.startInstance(slowly);
    await instance.accepted('start', startBody({ copyInNaturalOrder: inNaturalOrder }));
    await Promise.all([untilPieces(instance), next(1 / 9)]);
    await next(2 / 9);
    await instance.accepted('pause');
    await instance.untilState('PAUSED');
    await next(1 / 18);
    await instance.accepted('resume');
    await next(1 / 9);
    await electOnFirstShard();
    await next(5 / 18);
    await instance.untilCanCommit();
    await next(2 / 9);
    expect(await storedOrders()).toMatchObject([
      { order: { order: 'natural', reason: 'requested' }, state: 'done' },
      { order: { order: 'natural', reason: 'requested' }, state: 'done' },
    ]);
    expect(await rereadsOf(instance.url), `seed ${testSeed}`).toBeGreaterThan(0);
    await instance.commitWhenOffered();
    await expectEqualDatabases(fixture, 'shop');
  });

  it('is refused by name where Convoy reads through the router', async () => {
    await using instance = await fixture.startInstance({ sourceAccess: 'router' });
    for (const options of [{ copyInNaturalOrder: inNaturalOrder }, { detectRandomId: true }])
      expect(await instance.command('start', startBody(options))).toMatchObject({
        status: 422,
        body: { error: 'naturalOrderNeedsDirectAccess' },
      });
  });
});

/** The shard's only member steps down and is elected again: its record numbers count as another member's. */
async function electOnFirstShard(): Promise<void> {
  const { shards } = await fixture.cluster0.client.db('admin').command({ listShards: 1 });
  const [, hosts = ''] = String((shards as Document[])[0]?.['host']).split('/');
  await using member = await new MongoClient(`mongodb://${hosts}/?directConnection=true`).connect();
  await member
    .db('admin')
    .command({ replSetStepDown: 1, secondaryCatchUpPeriodSecs: 0, force: true })
    .catch(() => undefined);
}

describe('detectRandomId', () => {
  it('finds _ids that are random over the records, and those that follow them', async () => {
    const shop = fixture.cluster0.client.db('shop');
    const count = Array.from({ length: 2_000 }, (_, n) => n);
    const insert = (name: string, ids: unknown[]) =>
      shop.collection<{ _id: unknown }>(name).insertMany(ids.map((_id) => ({ _id })));
    await insert(
      'random',
      count.map(() => randomUUID()),
    );
    await insert('ascending', count);
    await insert(
      'descending',
      count.map((n) => -n),
    );
    await insert('few', count.slice(0, 9));
    const signal = AbortSignal.timeout(60_000);
    const cluster = await openCluster('cluster0', fixture.cluster0.connectionString, { direct: true, signal });
    const databases = fixture.cluster0.client.db('config').collection<{ _id: string; primary: string }>('databases');
    const primary = cluster.shard((await databases.findOne({ _id: 'shop' }))?.primary ?? '');
    const wish = { requested: false, detects: true, obstacle: null };
    const chosen = (name: string, detectMin = 0) =>
      chooseOrder(primary, collectionOf({ database: 'shop', name }), wish, { part: 1, detectMin }, signal);
    expect(await chosen('random')).toEqual({ order: 'natural', reason: 'randomIds' });
    expect(await chosen('ascending')).toEqual({ order: '_id', reason: 'orderedIds' });
    expect(await chosen('descending')).toEqual({ order: '_id', reason: 'orderedIds' });
    expect(await chosen('few')).toEqual({ order: '_id', reason: 'notSampled' });
    expect(await chosen('random', 2)).toEqual({ order: '_id', reason: 'small' });
    await cluster.close();
  });
});
