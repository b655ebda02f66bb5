import type { StartRequestBody } from '@convoy/api/contract/start-request';
import { expect, test } from 'vitest';
import { largeCollection } from '../data.js';
import { isFullRun, needs } from '../requirements.js';
import { Clusters, defaultStart, untilCanCommit, untilCommitted, untilTaken } from '../fleet.js';
import { Workload } from '../workload.js';
import { AcknowledgedWrites } from './acknowledged-writes.js';
import { indexesOnShards, unfinished } from './built-indexes.js';
import { membersNow, setsOfThree, untilAnotherLeads } from './members.js';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import { MongoClient } from 'mongodb';

const orders = isFullRun ? 5_000 : 500;
const onSets = { version: [5, 0], real: true } as const;

test('a migration with indexes ends while one member of the destination is away', needs(onSets), async () => {
  await using clusters = await Clusters.loaded(setsOfThree, orders);
  await indexesAreBuiltBesideAnAbsentMember(clusters, 'rs0', defaultStart);
});

test(
  'a migration with indexes ends while one member of a shard of the destination is away',
  needs(onSets),
  async () => {
    await using clusters = await Clusters.loaded({ ...setsOfThree, destination: { shards: 2 } }, orders);
    const { database, name: collection } = largeCollection;
    const shardCollection = { key: [{ _id: 1 as const }] };
    const sharding = { createSupportingIndexes: false, shardingEntries: [{ database, collection, shardCollection }] };
    await indexesAreBuiltBesideAnAbsentMember(clusters, 'shard1', { ...defaultStart, sharding });
  },
);

/** Migrates under writes while one secondary of a shard is away: no build of an index waits for it. */
async function indexesAreBuiltBesideAnAbsentMember(
  clusters: Clusters,
  shard: string,
  start: StartRequestBody,
): Promise<void> {
  await using instance = await clusters.startLoneInstanceHere({ catalogInterval_seconds: 1 });
  await using workload = Workload.start(clusters.clients.source, orders);
  const { others } = await membersNow(clusters.destination, shard);
  clusters.destination.signal?.(others[0] ?? '', 'SIGKILL');

  await instance.client.start(start);
  await untilCanCommit(instance.client);
  const indexes = [
    { key: { total: 1, tag: 1 }, name: 'total_tag' },
    { key: { _id: 1, version: 1 }, name: 'unique', unique: true },
  ];
  const { database, name } = largeCollection;
  await clusters.clients.source.db(database).command({ createIndexes: name, indexes });
  await workload.stop();
  // An offer that is older than the indexes may still stand: the commit has to wait for them then.
  await untilTaken(() => instance.client.commit());
  await untilCommitted(instance.client);
  const states = Object.values(await indexesOnShards(clusters.destination, database, name));
  expect(states.length).toBeGreaterThan(0);
  for (const state of states) expect(state).toMatchObject({ total_tag: 'finished', unique: 'finished' });
  expect(await unfinished(clusters.destination, database, name)).toEqual([]);
  await clusters.expectEqual();
}

test('a default write concern of all members does not hold the commit while one is away', needs(onSets), async () => {
  await using clusters = await Clusters.little(setsOfThree);
  await using instance = await clusters.startLoneInstanceHere();
  await clusters.clients.destination
    .db('admin')
    .command({ setDefaultRWConcern: 1, defaultWriteConcern: { w: 3, wtimeout: 0 } });
  const { others } = await membersNow(clusters.destination, 'rs0');
  clusters.destination.signal?.(others[0] ?? '', 'SIGKILL');

  await instance.client.start(defaultStart);
  await untilCanCommit(instance.client);
  await clusters.commit(instance.client);
});

test.each(['source', 'destination'] as const)(
  'a migration goes on when the primary of the %s freezes, and loses nothing',
  needs(onSets),
  async (side) => {
    await using clusters = await Clusters.loaded(setsOfThree, orders);
    await using instance = await clusters.startLoneInstanceHere();
    await using workload = Workload.start(clusters.clients.source, orders);
    await using writes = AcknowledgedWrites.start(clusters.clients.source);
    await instance.client.start(defaultStart);
    await untilCanCommit(instance.client);
    await writes.untilMore();

    const cluster = clusters[side];
    const { primary } = await membersNow(cluster, 'rs0');
    cluster.signal?.(primary, 'SIGSTOP');
    await untilAnotherLeads(cluster, 'rs0', primary);
    await workload.stop();
    await writes.stop();
    // The driver finds a frozen member within half a minute: a commit that is sent before may be answered too late.
    await untilTaken(() => instance.client.commit());
    await untilCommitted(instance.client);

    cluster.signal?.(primary, 'SIGCONT');
    expect(await writes.lostOn(clusters.clients.destination)).toEqual([]);
    expect((await clusters.compare()).differences).toEqual([]);
  },
);

const steppedDownWithin_ms = 60_000;

/** Waits until a member leads no more, since it does not hear a majority of its set. */
async function untilItStepsDown(host: string): Promise<void> {
  await using client = new MongoClient(`mongodb://${host}/?directConnection=true`);
  await pollUntil(`${host} leads no more`, steppedDownWithin_ms, async () => {
    return (await client.db('admin').command({ hello: 1 }))['isWritablePrimary'] !== true;
  });
}

test.each(['source', 'destination'] as const)(
  'a commit goes on after two of three members of the %s were away, and loses no acknowledged write',
  needs(onSets),
  async (side) => {
    await using clusters = await Clusters.little(setsOfThree);
    await using instance = await clusters.startLoneInstanceHere();
    const { client } = instance;
    await using writes = AcknowledgedWrites.start(clusters.clients.source);
    await client.start(defaultStart);
    await writes.untilMore();
    await untilCanCommit(client);

    await writes.stop();
    const cluster = clusters[side];
    const { primary, others } = await membersNow(cluster, 'rs0');
    await untilTaken(() => client.commit());
    for (const host of others) cluster.signal?.(host, 'SIGSTOP');
    try {
      await untilItStepsDown(primary);
    } finally {
      for (const host of others) cluster.signal?.(host, 'SIGCONT');
    }
    await untilCommitted(client);
    expect(await writes.lostOn(clusters.clients.destination)).toEqual([]);
    expect((await clusters.compare()).differences).toEqual([]);
  },
);
