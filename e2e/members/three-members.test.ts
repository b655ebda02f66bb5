import { expect, test } from 'vitest';
import { isFullRun, needs } from '../requirements.js';
import { Clusters, defaultStart, untilCanCommit, untilCommitted, untilTaken } from '../fleet.js';
import { Workload } from '../workload.js';
import { membersNow, untilAnotherLeads } from './members.js';

const orders = isFullRun ? 5_000 : 500;
const onSets = { version: [5, 0], real: true } as const;
const sets = { source: 'replicaSet', destination: 'replicaSet', members: 3 } as const;

test('a migration with indexes ends while one member of the destination is away', needs(onSets), async () => {
  await using clusters = await Clusters.loaded(sets, orders);
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
  await using clusters = await Clusters.little(sets);
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
    await using clusters = await Clusters.loaded(sets, orders);
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
