import type { ReleaseSeries } from '@convoy/simulator';
import { expect, it } from 'vitest';
import { Fixture, type Side } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from './equal-databases.js';
import { expireOften, patience, setEverywhere, untilLooked } from './shard-servers.js';
import { sampled } from '../../../../../test/seed.js';

const releases = sampled<ReleaseSeries>(['5.0', '7.0']);
const day_ms = 86_400_000;

interface Session {
  _id: number;
  at: Date | Date[];
  kept?: boolean;
}

/**
 * A sharded collection of which most documents expire within the given time, one after the other, and an unsharded one
 * with a partial index.
 */
async function load({ client }: Side, span_ms: number): Promise<void> {
  const shop = client.db('shop');
  await client.db('admin').command({ enableSharding: 'shop' });
  await client.db('admin').command({ shardCollection: 'shop.sessions', key: { _id: 'hashed' } });
  const now = Date.now();
  const session = (_id: number): Session => {
    const soon = new Date(now + (_id / 600) * span_ms);
    if (_id % 10 === 0) return { _id, at: new Date(now + day_ms), kept: true };
    return { _id, at: _id % 10 === 1 ? [new Date(now + day_ms), soon] : soon };
  };
  const sessions = Array.from({ length: 600 }, (_, _id) => session(_id));
  for (const name of ['sessions', 'tokens']) await shop.collection<Session>(name).insertMany(sessions);
  await shop.collection('sessions').createIndexes([{ key: { at: 1 }, name: 'at', expireAfterSeconds: 1 }]);
  await shop
    .collection('tokens')
    .createIndexes([
      { key: { at: -1 }, name: 'at', expireAfterSeconds: 1, partialFilterExpression: { _id: { $gte: 200 } } },
    ]);
}

/** A clustered collection all of whose documents have expired. @returns its name */
async function loadClustered({ client }: Side): Promise<string> {
  const name = 'aging';
  const aging = await client.db('shop').createCollection<{ _id: Date }>(name, {
    clusteredIndex: { key: { _id: 1 }, unique: true },
    expireAfterSeconds: 1,
  });
  await aging.insertMany(Array.from({ length: 600 }, (_, n) => ({ _id: new Date(1_000_000_000_000 + n) })));
  return name;
}

/** Writes short-lived sessions until it is stopped. */
function writeSessions({ client }: Side): () => Promise<void> {
  const sessions = client.db('shop').collection<Session>('sessions');
  const over = new AbortController();
  const written = (async () => {
    for (let _id = 1_000; !over.signal.aborted; _id += 1) {
      await sessions.insertOne({ _id, at: new Date() });
      await sessions.updateOne({ _id: 1_000 + Math.floor((_id - 1_000) / 2) }, { $set: { at: new Date() } });
    }
  })();
  return () => {
    over.abort();
    return written;
  };
}

it.each(releases)(
  'documents that the source expires during copy, stream, verification and commit end as on the source (%s)',
  async (release) => {
    await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: release, cluster1: release });
    const { cluster0, cluster1 } = fixture;
    await load(cluster0, 6_000);
    for (const side of [cluster0, cluster1]) await expireOften(side);
    const stop = writeSessions(cluster0);
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await stop();
    await instance.accepted('commit');
    await instance.untilState('COMMITTED');

    for (const { client } of [cluster0, cluster1]) {
      for (const name of ['sessions', 'tokens']) {
        const expiring = client.db('shop').collection<Session>(name);
        await expect
          .poll(() => expiring.countDocuments({ kept: { $exists: false }, _id: { $gte: 200 } }), patience)
          .toBe(0);
      }
    }
    await expectEqualDatabases(fixture, 'shop');
  },
  180_000,
);

it.each(releases)(
  'what the source keeps beyond its time is kept by the destination until the commit (%s)',
  async (release) => {
    await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: release, cluster1: release });
    const { cluster0, cluster1 } = fixture;
    await setEverywhere(cluster0, { ttlMonitorEnabled: false });
    await load(cluster0, -day_ms);
    const ages = release === '5.0' ? [] : [await loadClustered(cluster0)];
    await expireOften(cluster1);
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await untilLooked(cluster1);
    for (const name of ['sessions', 'tokens', ...ages])
      expect([name, await cluster1.client.db('shop').collection(name).countDocuments()]).toEqual([name, 600]);
    await instance.accepted('commit');
    await instance.untilState('COMMITTED');
    await expect.poll(() => cluster1.client.db('shop').collection('sessions').countDocuments(), patience).toBe(60);
  },
  180_000,
);

it('a source that is closed to users expires nothing any more (7.0)', async () => {
  await using fixture = await Fixture.open(
    { shards: 2 },
    { shards: 2 },
    { cluster0: '7.0', cluster1: '7.0', withUsers: true },
  );
  const { cluster0, cluster1 } = fixture;
  for (const side of [cluster0, cluster1]) await setEverywhere(side, { ttlMonitorEnabled: false });
  await load(cluster0, -day_ms);
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody({ enableUserWriteBlocking: true }));
  await instance.untilCanCommit();
  await instance.accepted('commit');
  await instance.untilState('COMMITTED');
  await setEverywhere(cluster0, { ttlMonitorEnabled: true });
  await expireOften(cluster0);
  await untilLooked(cluster0);
  await expectEqualDatabases(fixture, 'shop');
  await setEverywhere(cluster1, { ttlMonitorEnabled: true });
  await expireOften(cluster1);
  await expect.poll(() => cluster1.client.db('shop').collection('sessions').countDocuments(), patience).toBe(60);
  expect(await cluster0.client.db('shop').collection('sessions').countDocuments()).toBe(600);
}, 180_000);
