import { test } from 'vitest';
import { redisCommand } from './fleet-faults/redis-command.js';
import { FleetUnderLoad } from './fleet-under-load.js';
import { defaultStart, untilCanCommit, untilCommitted, untilProgress } from './fleet.js';
import { needs } from './requirements.js';

const orders = 15_000;

test(
  'the leader is killed while changes are applied: its peer leads, and it comes back (servers from 5.0)',
  needs({ version: [5, 0], inFull: true }),
  async () => {
    await using underLoad = await FleetUnderLoad.start({ orders });
    const { clusters, fleet, workload, client } = underLoad;
    await client.start(defaultStart);
    const { coordinatorID } = await untilCanCommit(client);
    const leader = fleet.instances.find(({ name }) => name === coordinatorID);
    const peer = fleet.instances.find(({ name }) => name !== coordinatorID);
    if (!leader || !peer) throw new Error(`The leader ${coordinatorID ?? 'null'} is none of the instances.`);

    await leader.kill();
    await untilProgress(peer.client, 'the peer leads', ({ coordinatorID: next }) => next === peer.name);
    await untilProgress(peer.client, 'canCommit is false while an instance is silent', ({ canCommit }) => !canCommit);
    await leader.restart();
    await clusters.cutOver(client, workload);
  },
);

test(
  'all instances are killed during the commit: it is finished after their restart (servers from 5.0)',
  needs({ version: [5, 0], inFull: true }),
  async () => {
    await using underLoad = await FleetUnderLoad.start({ orders });
    const { clusters, fleet, workload, client } = underLoad;
    await client.start(defaultStart);
    await untilCanCommit(client);
    await workload.stop();

    await client.commit();
    await Promise.all(fleet.instances.map((instance) => instance.kill()));
    await Promise.all(fleet.instances.map((instance) => instance.restart()));
    await untilCommitted(client);

    await clusters.expectEqual();
  },
);

test(
  'Redis forgets everything in the middle of the copy: nothing is lost (servers from 5.0)',
  needs({ version: [5, 0], inFull: true }),
  async () => {
    await using underLoad = await FleetUnderLoad.start({ orders, settings: { loadRateBytesPerSecond: 3_000_000 } });
    const { clusters, fleet, workload, client } = underLoad;
    await client.start(defaultStart);
    await untilProgress(
      client,
      'a part is copied',
      ({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > 3_000_000,
    );

    await redisCommand(fleet.redis.url, 'FLUSHALL', '+OK');
    await untilCanCommit(client);
    await redisCommand(fleet.redis.url, 'FLUSHALL', '+OK');
    await workload.stop();
    await clusters.cutOver(client);
  },
);
