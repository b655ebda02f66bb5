import type { ReleaseSeries } from '@convoy/simulator';
import type { Collection } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { isFullRun, sampled } from '../../../../../test/seed.js';
import { Fixture } from '../contract/fixture.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { startBody } from '../contract/start-conditions.js';
import { endsEqual } from './ends-equal.js';
import { UpgradedSide } from './upgraded-side.js';

const documents = 60;
/** From a release, and through those after it. */
const upgrades: readonly (readonly [ReleaseSeries, readonly ReleaseSeries[]])[] = isFullRun
  ? [
      ['5.0', ['6.0']],
      ['6.0', ['7.0', '8.0']],
    ]
  : [
      ['5.0', ['6.0']],
      ['6.0', ['7.0']],
      ['7.0', ['8.0']],
    ];

interface Upgrading extends AsyncDisposable {
  readonly source: UpgradedSide;
  readonly destination: UpgradedSide;
  readonly fixture: Fixture;
}

/** @param later releases in which a collection is dropped and another one renamed */
async function startBoth(
  from: ReleaseSeries,
  to: ReleaseSeries,
  later: readonly ReleaseSeries[] = [],
): Promise<Upgrading> {
  const [source, destination] = [await UpgradedSide.start(from), await UpgradedSide.start(to)];
  const fixture = new Fixture(source.side, destination.side);
  const admin = source.side.client.db('admin');
  await admin.command({ enableSharding: 'shop' });
  const changed = later.flatMap((release) => [`dropped ${release}`, `renamed ${release}`]);
  for (const name of ['orders', 'kept', ...changed]) {
    if (name !== 'kept') await admin.command({ shardCollection: `shop.${name}`, key: { _id: 'hashed' } });
    await source.side.client
      .db('shop')
      .collection<{ _id: number }>(name)
      .insertMany(Array.from({ length: documents }, (_, _id) => ({ _id, k: _id, n: 0 })));
  }
  // It is a plain index until the commit: how it becomes unique depends on the destination's release.
  await source.side.client
    .db('shop')
    .collection('kept')
    .createIndexes([
      { key: { k: 1 }, name: 'k_unique', unique: true },
      { key: { n: 1 }, name: 'n_1' },
    ]);
  return { source, destination, fixture, [Symbol.asyncDispose]: () => fixture.close() };
}

/** Writes of every kind, a number of times; each is retried while a node is away. */
class Writes {
  #next = documents;

  constructor(private readonly orders: Collection<{ _id: number; n: number }>) {}

  async some(count = 20): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      const _id = this.#next++;
      await this.again(() => this.orders.updateOne({ _id }, { $set: { n } }, { upsert: true }));
      await this.again(() => this.orders.updateOne({ _id: _id % documents }, { $inc: { n: 1 } }));
      if (n % 5 === 0) await this.again(() => this.orders.deleteOne({ _id: _id - 7 }));
    }
  }

  /** The driver retries once; a node may take longer to start. */
  async again(work: () => Promise<unknown>): Promise<void> {
    await expect
      .poll(() =>
        work().then(
          () => null,
          (error: unknown) => error,
        ),
      )
      .toBeNull();
  }
}

describe('a migration continues while both clusters are upgraded node by node', () => {
  it.each(sampled(upgrades))('from %s to %s', async (before, later) => {
    await using both = await startBoth(before, before, later);
    const { source, destination, fixture } = both;
    const shop = source.side.client.db('shop');
    const writes = new Writes(shop.collection('orders'));
    let isStarted = false;
    for (const after of later) {
      {
        await using instance = await fixture.startInstance({ sourceAccess: 'direct' });
        if (!isStarted) await instance.accepted('start', startBody());
        isStarted = true;
        await destination.upgrade(after, () => writes.some());
        await writes.some();
        await source.upgrade(after, async (node) => {
          await writes.some();
          // Its shards are of two releases now.
          if (node === 'shard0') await writes.again(() => shop.collection(`dropped ${after}`).drop());
        });
        await instance.untilCanCommit();
      }
      // An instance that starts now meets nodes of the later release, and must not use its features yet.
      await using instance = await fixture.startInstance({ sourceAccess: 'direct' });
      await writes.again(() => shop.collection(`renamed ${after}`).rename(`other ${after}`));
      await instance.untilCanCommit();
      await destination.raiseFeatures(after);
      await source.raiseFeatures(after);
      await writes.some();
      await instance.untilCanCommit();
    }
    await using instance = await fixture.startInstance({ sourceAccess: 'direct' });
    await shop.createCollection('last', { validator: { n: { $gte: 0 } } });
    await writes.some();
    await endsEqual(fixture, instance);
  });

  it('a node of the older release may become primary again', async () => {
    await using both = await startBoth('5.0', '6.0');
    const { source, fixture } = both;
    await source.upgrade('6.0');
    await using instance = await fixture.startInstance({ sourceAccess: 'direct' });
    await instance.accepted('start', startBody());
    await source.upgrade('5.0');
    const writes = new Writes(source.side.client.db('shop').collection('orders'));
    await writes.some();
    await endsEqual(fixture, instance);
  });
});

/** Until progress offers no commit and says why: a commit would be refused. */
async function untilVersionsBlock(instance: ServedInstance, says: RegExp): Promise<void> {
  await expect
    .poll(async () => {
      const { canCommit, commitBlockers } = await instance.progress();
      return { canCommit, commitBlockers };
    })
    .toMatchObject({
      canCommit: false,
      commitBlockers: [{ reason: 'featureVersion', description: expect.stringMatching(says) as unknown }],
    });
}

it('a commit is not offered while the destination has a lower feature compatibility version than before', async () => {
  await using both = await startBoth('8.0', '8.0');
  const { destination, fixture } = both;
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await destination.raiseFeatures('7.0');
  await untilVersionsBlock(instance, /cluster1 was lowered to 7\.0 during the migration: raise it again/);
  await expect
    .poll(async () => (await instance.command('commit')).body)
    .toMatchObject({ error: 'unsupportedServerVersion' });
  await destination.raiseFeatures('8.0');
  await endsEqual(fixture, instance);
});

it('a start is refused by name while a feature compatibility version is lower than Convoy found it', async () => {
  await using both = await startBoth('6.0', '6.0');
  await using instance = await both.fixture.startInstance();
  await both.destination.raiseFeatures('5.0');
  expect((await instance.command('start', startBody())).body).toMatchObject({
    error: 'unsupportedServerVersion',
    errorDescription: expect.stringMatching(/5\.0.*Restart/) as unknown,
  });
  await both.source.raiseFeatures('5.0');
  await both.source.raiseFeatures('6.0');
  await both.destination.raiseFeatures('6.0');
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
});

it('a commit is refused by name while the source was upgraded beyond the destination', async () => {
  await using both = await startBoth('6.0', '6.0');
  const { source, destination, fixture } = both;
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await source.upgrade('7.0');
  await instance.untilCanCommit();
  await source.raiseFeatures('7.0');
  await untilVersionsBlock(instance, /7\.0 is now above the destination's 6\.0/);
  await expect
    .poll(async () => (await instance.command('commit')).body)
    .toMatchObject({
      error: 'unsupportedServerVersion',
      errorDescription: expect.stringMatching(/7\.0 is now above the destination's 6\.0/) as unknown,
    });
  expect((await instance.progress()).state).toBe('RUNNING');
  await destination.upgrade('7.0');
  await destination.raiseFeatures('7.0');
  await endsEqual(fixture, instance);
});

it('a commit is refused by name after the destination lowered its feature compatibility version', async () => {
  await using fixture = await Fixture.open({ shards: 1 }, { shards: 1 }, { cluster0: '5.0', cluster1: '5.0' });
  const sides = [fixture.cluster0, fixture.cluster1];
  const setFeatures = async (version: string) => {
    for (const { client } of sides) await client.db('admin').command({ setFeatureCompatibilityVersion: version });
  };
  const kept = fixture.cluster0.client.db('shop').collection<{ _id: number }>('kept');
  await kept.insertOne({ _id: 1 });
  // Before 5.0 it cannot be built beside the index that replaces it until the commit.
  await kept.createIndexes([{ key: { k: 1 }, name: 'k_unique', unique: true }]);
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await setFeatures('4.4');
  await untilVersionsBlock(instance, /cluster1 was lowered to 4\.4 during/);
  await expect
    .poll(async () => (await instance.command('commit')).body)
    .toMatchObject({
      error: 'unsupportedServerVersion',
      errorDescription: expect.stringMatching(/cluster1 was lowered to 4\.4 during/) as unknown,
    });
  expect((await instance.progress()).state).toBe('RUNNING');
  await setFeatures('5.0');
  await endsEqual(fixture, instance);
});
