import { expect, test } from 'vitest';
import { largeCollection } from './data.js';
import { FleetUnderLoad } from './fleet-under-load.js';
import { type Clusters, defaultStart, untilCanCommit, untilCommitted, untilProgress } from './fleet.js';
import { needs } from './requirements.js';
import { convoy, newFolder, resultIn, verifyOf } from './verify-command.js';

const orders = 1_500;

test(
  'a fleet moves a cluster of two shards to one of three under load through the coordinator; pause stops the work, ' +
    'resume goes on with it; a comparison finds collections of every kind equal, and one changed document (servers ' +
    'from 5.0)',
  needs({ version: [5, 0] }),
  async () => {
    await using underLoad = await FleetUnderLoad.startHere({ orders, destinationShards: 3 });
    const { clusters, workload, client } = underLoad;

    await client.start(defaultStart);
    await untilCanCommit(client);
    await client.pause();
    expect(await untilProgress(client, 'PAUSED', ({ state }) => state === 'PAUSED')).toMatchObject({
      lagTimeSeconds: null,
      canCommit: false,
    });
    await expect(client.commit()).rejects.toMatchObject({ name: 'ConvoyError' });
    const marker = clusters.clients.destination.db('e2e').collection<{ _id: string }>('names');
    await clusters.clients.source
      .db('e2e')
      .collection<{ _id: string }>('names')
      .insertOne({ _id: 'written while paused' });
    const written = workload.operations;
    await expect.poll(() => workload.operations, { timeout: 100_000 }).toBeGreaterThan(written + 50);
    expect(await marker.countDocuments({ _id: 'written while paused' })).toBe(0);

    await client.resume();
    await clusters.cutOver(client, workload);
    await expectCompared(clusters);
  },
);

test(
  'two instances work by hand, called strictly one after the other, as mongosync users do; the first waits for its ' +
    'peer and says so (servers from 5.0)',
  needs({ version: [5, 0], inFull: true }),
  async () => {
    await using underLoad = await FleetUnderLoad.start({ orders });
    const { clusters, fleet, workload } = underLoad;
    const [first, second] = fleet.instances;
    if (!first || !second) throw new Error('There must be two instances.');

    await first.client.start(defaultStart);
    const waiting = await untilProgress(
      first.client,
      'the warning',
      ({ warnings }) => warnings?.some(({ name }) => name === 'waitingForInstances') ?? false,
    );
    expect(waiting).toMatchObject({
      state: 'RUNNING',
      canCommit: false,
      collectionCopy: { estimatedCopiedBytes: 0, estimatedTotalBytes: 1 },
    });
    await second.client.start(defaultStart);
    for (const { client } of fleet.instances) await untilCanCommit(client);
    await workload.stop();
    for (const { client } of fleet.instances) await client.commit();
    for (const { client } of fleet.instances) await untilCommitted(client);

    await clusters.expectEqual();
  },
);

test(
  'an instance that is killed in the middle of the copy goes on where it was (servers from 5.0)',
  needs({ version: [5, 0], inFull: true }),
  async () => {
    const many = 60_000;
    // Slow and in small partitions, so that there is a middle, with partitions done and others begun.
    await using underLoad = await FleetUnderLoad.start({
      orders: many,
      settings: { partition_seconds: 1, loadRateBytesPerSecond: 4_000_000 },
    });
    const { clusters, fleet, workload, client } = underLoad;
    const [victim] = fleet.instances;
    if (!victim) throw new Error('There is no instance.');

    await client.start(defaultStart);
    const before = await untilProgress(
      victim.client,
      'a part is copied',
      ({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > 5_000_000,
    );
    expect(before.info).toBe('collection copy');
    await victim.kill();
    expect(
      await clusters.clients.destination
        .db(largeCollection.database)
        .collection(largeCollection.name)
        .estimatedDocumentCount(),
    ).toBeLessThan(many);
    await victim.restart();

    await clusters.cutOver(client, workload);
  },
);

/** `convoy verify` finds no difference, and later the one that is made. */
async function expectCompared(clusters: Clusters): Promise<void> {
  const result = async (): Promise<unknown> =>
    resultIn((await convoy(newFolder(), ...verifyOf(clusters, 0), '--json')).stdout);
  expect(await result()).toMatchObject({ verdict: 'equal', differences: [], notCompared: [] });
  await clusters.clients.destination
    .db('e2e')
    .collection<{ _id: number; number: number }>('mixed')
    .updateOne({ _id: NaN }, { $set: { number: -1 } });
  expect(await result()).toMatchObject({ verdict: 'different', differences: [], totals: { mismatches: 1 } });
}
