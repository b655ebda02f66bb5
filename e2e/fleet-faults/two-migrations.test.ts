import { expect, test } from 'vitest';
import { loadEverything } from '../data.js';
import { Clusters, defaultStart, untilCanCommit } from '../fleet.js';
import { needs } from '../requirements.js';
import { Workload } from '../workload.js';

const orders = 500;

test(
  'two migrations at once on one Redis, of one shard and of three, do not see each other (servers from 5.0)',
  needs({ version: [5, 0], inFull: true }),
  async () => {
    await using small = await Clusters.start({ source: { shards: 1 }, destination: { shards: 2 } });
    await using large = await Clusters.start({ source: { shards: 3 }, destination: { shards: 2 } });
    for (const { clients, source } of [small, large]) await loadEverything(clients.source, source, orders);
    await using first = await small.startFleet();
    await using second = await large.startFleet({}, new Map(), first.redis);
    await using workload = Workload.start(large.clients.source, orders);

    await first.coordinator.client.start(defaultStart);
    await untilCanCommit(first.coordinator.client);
    // The other fleet has instances of the same names, and got no command.
    for (const { client } of second.instances) expect((await client.progress()).progress.state).toBe('IDLE');
    await second.coordinator.client.start(defaultStart);
    await untilCanCommit(second.coordinator.client);
    for (const { coordinator, instances } of [first, second]) {
      const read = async () => (await coordinator.client.fleetProgress()).progress;
      // A late heartbeat on a busy machine rightly causes a warning until the next one.
      await expect.poll(async () => (await read()).warnings).toEqual([]);
      const progress = await read();
      expect(progress.instances?.map(({ id }) => id)).toEqual(instances.map(({ name }) => name));
    }
    await small.cutOver(first.coordinator.client);
    expect((await second.coordinator.client.progress()).progress.state).toBe('RUNNING');
    await large.cutOver(second.coordinator.client, workload);
  },
);
