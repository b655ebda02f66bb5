import { expect, test } from 'vitest';
import { isFullRun, needs } from '../requirements.js';
import { Clusters, defaultStart, untilCanCommit, untilCommitted, untilTaken } from '../fleet.js';
import { Workload } from '../workload.js';
import { AcknowledgedWrites, membersNow, setsOfThree, untilAnotherLeads } from './members.js';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import { MongoClient } from 'mongodb';

const orders = isFullRun ? 5_000 : 500;
const onSets = { version: [5, 0], real: true } as const;

test('a migration with indexes ends while one member of the destination is away', needs(onSets), async () => {
  await using clusters = await Clusters.loaded(setsOfThree, orders);
  await using instance = await clusters.startLoneInstanceHere();
  await using workload = Workload.start(clusters.clients.source, orders);
  const { others } = await membersNow(clusters.destination, 'rs0');
  clusters.destination.signal?.(others[0] ?? '', 'SIGKILL');

  await instance.client.start(defaultStart);
  await untilCanCommit(instance.client);
  const indexes = [{ key: { total: 1, tag: 1 }, name: 'total_tag' }];
  await clusters.clients.source.db('e2e').command({ createIndexes: 'orders', indexes });
  await untilCanCommit(instance.client);
  await workload.stop();
  await clusters.commit(instance.client);
});

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
    await instance.client.start(defaultStart);
    await untilCanCommit(instance.client);

    const cluster = clusters[side];
    const { primary } = await membersNow(cluster, 'rs0');
    cluster.signal?.(primary, 'SIGSTOP');
    await untilAnotherLeads(cluster, 'rs0', primary);
    await workload.stop();
    // The driver finds a frozen member within half a minute: a commit that is sent before may be answered too late.
    await untilTaken(() => instance.client.commit());
    await untilCommitted(instance.client);

    cluster.signal?.(primary, 'SIGCONT');
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
    expect(await writes.missingOn(clusters.clients.destination)).toEqual([]);
    expect((await clusters.compare()).differences).toEqual([]);
  },
);
