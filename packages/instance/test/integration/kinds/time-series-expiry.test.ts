import type { Db, Document } from 'mongodb';
import { expect, it } from 'vitest';
import { Fixture, type Shape } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { needs } from '../../../../../e2e/requirements.js';
import { sampled } from '../../../../../test/seed.js';
import { expectEqualSeries } from './equal-series.js';
import { expireOften, patience, setEverywhere, untilLooked } from './shard-servers.js';

const releases = { cluster0: '8.0', cluster1: '8.0' } as const;
const two = { shards: 2 } as const;
/** A server deletes a bucket once the longest span after its beginning is over, too. */
const spans = { bucketMaxSpanSeconds: 1, bucketRoundingSeconds: 1 } as const;
const hour_ms = 3_600_000;
const sensors = 4;

/** One series that expires as a whole, and one whose measurements expire by their metadata. */
async function makeSeries(db: Db): Promise<void> {
  const timeseries = { timeField: 'at', metaField: 'sensor', ...spans };
  await db.createCollection('aged', { timeseries, expireAfterSeconds: 2 });
  await db.createCollection('partly', { timeseries });
  await db.command({
    createIndexes: 'partly',
    indexes: [
      { key: { at: 1 }, name: 'expiring', expireAfterSeconds: 2, partialFilterExpression: { sensor: { $gte: 2 } } },
    ],
  });
}

async function measure(db: Db, times: readonly Date[]): Promise<void> {
  const rows = times.flatMap((at) => Array.from({ length: sensors }, (_, sensor): Document => ({ at, sensor })));
  for (const name of ['aged', 'partly']) await db.collection(name).insertMany(rows.map((row) => ({ ...row })));
}

const counts = (db: Db): Promise<number[]> =>
  Promise.all(['aged', 'partly'].map((name) => db.collection(name).countDocuments()));

/** Seconds of an hour ago. */
const past = (from: number, to: number): Date[] =>
  Array.from({ length: to - from }, (_, n) => new Date(Date.now() - hour_ms + (from + n) * 1_000));

const ways = sampled<[Shape, Shape]>([
  ['replicaSet', 'replicaSet'],
  [two, two],
]);

it.each(ways)(
  'measurements that the source keeps beyond their time are kept by the destination until the commit, from %j to %j',
  { timeout: 300_000, ...needs({ version: [7, 0] }) },
  async (from, to) => {
    await using fixture = await Fixture.open(from, to, releases);
    const { cluster0, cluster1 } = fixture;
    const [source, destination] = [cluster0.client.db('plant'), cluster1.client.db('plant')];
    await setEverywhere(cluster0, { ttlMonitorEnabled: false });
    await makeSeries(source);
    await measure(source, past(0, 20));
    await expireOften(cluster1);
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await measure(source, past(20, 30));
    await instance.untilCanCommit();
    await measure(source, past(30, 40));
    await untilLooked(cluster1);
    await expect.poll(() => counts(destination), patience).toEqual([40 * sensors, 40 * sensors]);
    await untilLooked(cluster1);
    expect(await counts(destination)).toEqual([40 * sensors, 40 * sensors]);
    await instance.commitWhenOffered();
    await expect.poll(() => counts(destination), patience).toEqual([0, 40 * 2]);
    expect(await counts(source)).toEqual([40 * sensors, 40 * sensors]);
  },
);

it.each(ways)(
  'measurements that the source expires while it is copied, followed and committed end as on the source, from %j to %j',
  { timeout: 300_000, ...needs({ version: [7, 0] }) },
  async (from, to) => {
    await using fixture = await Fixture.open(from, to, { ...releases, withUsers: true });
    const { cluster0, cluster1 } = fixture;
    const source = cluster0.client.db('plant');
    await makeSeries(source);
    await measure(source, past(0, 200));
    for (const side of [cluster0, cluster1]) await expireOften(side);
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody({ reversible: true, enableUserWriteBlocking: true }));
    for (let n = 0; n < 20; n += 1) await measure(source, [new Date(), ...past(200 + n, 201 + n)]);
    await instance.untilCanCommit();
    await expect.poll(() => counts(source), patience).toEqual([0, 240 * 2 - 20 * 2 + 20 * 2]);
    await measure(source, [new Date(Date.now() + hour_ms)]);
    await instance.commitWhenOffered();
    await expectEqualSeries(fixture, 'plant');
    // Back again: who was the source deletes nothing before the second commit either.
    const destination = cluster1.client.db('plant');
    await setEverywhere(cluster1, { ttlMonitorEnabled: false });
    await instance.accepted('reverse');
    await measure(destination, past(0, 10));
    await instance.untilCanCommit();
    await untilLooked(cluster0);
    await expect.poll(() => counts(source), patience).toEqual(await counts(destination));
    await instance.commitWhenOffered();
    await expect.poll(async () => (await counts(source))[0], patience).toBe(sensors);
  },
);
