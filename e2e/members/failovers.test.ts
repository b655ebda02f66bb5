import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '@convoy/cli/demo/random';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import { testSeed } from '../../test/seed.js';
import { Clusters, defaultStart, untilCanCommit, untilCommitted, untilProgress, untilTaken } from '../fleet.js';
import { guarded, needs } from '../requirements.js';
import { AcknowledgedWrites } from './acknowledged-writes.js';
import { indexesOnShards, unfinished } from './built-indexes.js';
import { membersNow, onMember, setsOfThree, untilAnotherLeads } from './members.js';

const onSets = { version: [5, 0], real: true } as const;
const onBlockingSets = { version: [6, 0], real: true } as const;
const sides = ['source', 'destination'] as const;
/** Initialising takes about as long. */
const initialisation_ms = 2_000;
const orders = 500;

/** Commits what is offered, whoever leads meanwhile, and expects everything that was acknowledged. */
async function endWith(clusters: Clusters, instance: Instance, writes: AcknowledgedWrites): Promise<void> {
  await untilCanCommit(instance.client);
  await writes.stop();
  await untilTaken(() => instance.client.commit());
  await untilCommitted(instance.client);
  expect(writes.acknowledged).toBeGreaterThan(0);
  expect(await writes.lostOn(clusters.clients.destination)).toEqual([]);
  await clusters.expectEqual();
}

type Instance = Awaited<ReturnType<Clusters['startLoneInstanceHere']>>;

test.each(sides)(
  `a migration begins although the primary of the %s is killed while it does (seed ${testSeed})`,
  needs(onSets),
  async (side) => {
    await using clusters = await Clusters.loaded(setsOfThree, orders);
    await using instance = await clusters.startLoneInstanceHere();
    await using writes = AcknowledgedWrites.start(clusters.clients.source);
    await writes.untilMore();
    const { primary } = await membersNow(clusters[side], 'rs0');
    const started = untilTaken(() => instance.client.start(defaultStart));
    await delay(new Random(testSeed).below(initialisation_ms));
    clusters[side].signal?.(primary, 'SIGKILL');
    await untilAnotherLeads(clusters[side], 'rs0', primary);
    await started;
    await endWith(clusters, instance, writes);
  },
);

test.each(sides)(
  'an index that is being built when the primary of the %s is killed is finished on both at the end',
  needs(onSets),
  async (side) => {
    await using clusters = await Clusters.loaded(setsOfThree, orders);
    const { source } = clusters.clients;
    await using instance = await clusters.startLoneInstanceHere({ catalogInterval_seconds: 1 });
    await using writes = AcknowledgedWrites.start(source);
    await instance.client.start(defaultStart);
    await untilCanCommit(instance.client);
    await writes.untilMore();

    const { primary } = await membersNow(clusters[side], 'rs0');
    await onMember(primary, { configureFailPoint: 'hangAfterInitializingIndexBuild', mode: 'alwaysOn' });
    const indexes = [{ key: { total: 1, tag: 1 }, name: 'total_tag' }];
    const built = source.db('e2e').command({ createIndexes: 'orders', indexes, commitQuorum: 'majority' });
    built.catch(() => undefined);
    const building = (): Promise<string[]> => unfinished(clusters[side], 'e2e', 'orders');
    await expect.poll(building, { timeout: 60_000 }).toEqual(['total_tag']);
    clusters[side].signal?.(primary, 'SIGKILL');
    await untilAnotherLeads(clusters[side], 'rs0', primary);
    await endWith(clusters, instance, writes);
    for (const cluster of [clusters.source, clusters.destination])
      expect(await indexesOnShards(cluster, 'e2e', 'orders')).toMatchObject({ rs0: { total_tag: 'finished' } });
    await using there = new MongoClient(clusters.destination.shardConnectionString('rs0'));
    const stats = await there
      .db('e2e')
      .collection('orders')
      .aggregate([{ $indexStats: {} }])
      .toArray();
    expect(stats.filter(({ building: isOn }) => isOn === true)).toEqual([]);
  },
);

/** Kills the primary of a shard, for good. */
async function killPrimary(cluster: TestCluster, shard: string): Promise<void> {
  const { primary } = await membersNow(cluster, shard);
  cluster.signal?.(primary, 'SIGKILL');
  await untilAnotherLeads(cluster, shard, primary);
}

/** Documents of a kilobyte, whose copy takes about ten seconds at `rateBytesPerSecond`. */
const copied = 4_000;
const rateBytesPerSecond = copied * 100;

test.each([
  ['source', 'direct'],
  ['destination', 'router'],
] as const)(
  'shards of the %s lose their primaries, one in the copy and one after it, and no acknowledged write: read %s',
  needs(onSets),
  async (side, sourceAccess) => {
    const shards = { shards: 2 } as const;
    await using clusters = await Clusters.loaded({ source: shards, destination: shards, members: 3 }, copied);
    const admin = clusters.clients.source.db('admin');
    await admin.command({ shardCollection: 'shop.acknowledged', key: { _id: 'hashed' } });
    const settings = { loadRateBytesPerSecond: rateBytesPerSecond, partition_seconds: 1 };
    await using instance = await clusters.startLoneInstanceHere({ sourceAccess, ...settings });
    await using writes = AcknowledgedWrites.start(clusters.clients.source);
    await writes.untilMore();
    await instance.client.start(defaultStart);
    const { collectionCopy: copy } = await untilProgress(
      instance.client,
      'a part is copied',
      (progress) => (progress.collectionCopy?.estimatedCopiedBytes ?? 0) > 0,
    );
    expect(copy?.estimatedCopiedBytes).toBeLessThan(copy?.estimatedTotalBytes ?? 0);
    await killPrimary(clusters[side], 'shard0');
    await untilCanCommit(instance.client);
    await killPrimary(clusters[side], 'shard1');
    await writes.untilMore();
    await endWith(clusters, instance, writes);
  },
);

/** Lets the primary of a set step down; it may be elected again a second later. */
async function stepDown(clusters: Clusters, side: (typeof sides)[number]): Promise<void> {
  const { primary } = await membersNow(clusters[side], 'rs0');
  await onMember(primary, { replSetStepDown: 5, force: true }, true).catch(() => undefined);
  await untilAnotherLeads(clusters[side], 'rs0', primary);
}

test(
  `a migration and its reverse lose no acknowledged write while primaries step down (seed ${testSeed})`,
  needs(onBlockingSets),
  async () => {
    await using clusters = await Clusters.little({ ...setsOfThree, ...guarded });
    await using instance = await clusters.startLoneInstanceHere();
    const { client } = instance;
    const random = new Random(testSeed);
    for (const [turn, from, to] of [
      [0, 'source', 'destination'],
      [1, 'destination', 'source'],
    ] as const) {
      await using writes = AcknowledgedWrites.start(clusters.shoppers[from], turn * 1_000_000);
      await writes.untilMore();
      if (turn === 0) await client.start({ ...defaultStart, enableUserWriteBlocking: true, reversible: true });
      else await untilTaken(() => client.reverse());
      await stepDown(clusters, random.pick(sides));
      await untilCanCommit(client);
      await writes.untilMore();
      await stepDown(clusters, to);
      await writes.untilMore();
      await untilCanCommit(client);
      await untilTaken(() => client.commit());
      await delay(random.below(initialisation_ms));
      await stepDown(clusters, random.pick(sides));
      await untilProgress(client, 'COMMITTED', ({ state, canWrite }) => state === 'COMMITTED' && canWrite === true);
      await writes.stop();
      expect(writes.acknowledged).toBeGreaterThan(0);
      expect(await writes.lostOn(clusters.clients[to])).toEqual([]);
      await clusters.expectEqual();
    }
  },
);
