import { createConnection } from 'node:net';
import { expect, test } from 'vitest';
import { loadEverything } from './data.js';
import { Clusters, plainStart, untilCanCommit, untilCommitted, untilProgress } from './fleet.js';
import { needs } from './requirements.js';
import { Workload } from './workload.js';

const twoShards = { source: { shards: 2 }, destination: { shards: 2 } };
const orders = 15_000;

test('the leader is killed while changes are applied: its peer leads, and it comes back (servers from 5.0)', needs({ version: [5, 0] }), async () => {
  await using clusters = await Clusters.start(twoShards);
  await loadEverything(clusters.clients.source, clusters.source, orders);
  await using fleet = await clusters.startFleet();
  await using workload = Workload.start(clusters.clients.source, orders);
  const { client } = fleet.coordinator;
  await client.start(plainStart);
  const { coordinatorID } = await untilCanCommit(client);
  const leader = fleet.instances.find(({ name }) => name === coordinatorID);
  const peer = fleet.instances.find(({ name }) => name !== coordinatorID);
  if (!leader || !peer) throw new Error(`The leader ${coordinatorID ?? 'null'} is none of the instances.`);

  await leader.kill();
  await untilProgress(peer.client, 'the peer leads', ({ coordinatorID: next }) => next === peer.name);
  await untilProgress(peer.client, 'canCommit is false while an instance is silent', ({ canCommit }) => !canCommit);
  await leader.restart();
  await untilCanCommit(client);
  await workload.stop();
  await client.commit();
  await untilCommitted(client);

  expect(await clusters.compare()).toMatchObject({ equal: true, differences: [] });
});

test('all instances are killed during the commit: it is finished after their restart (servers from 5.0)', needs({ version: [5, 0] }), async () => {
  await using clusters = await Clusters.start(twoShards);
  await loadEverything(clusters.clients.source, clusters.source, orders);
  await using fleet = await clusters.startFleet();
  const { client } = fleet.coordinator;
  await using workload = Workload.start(clusters.clients.source, orders);
  await client.start(plainStart);
  await untilCanCommit(client);
  await workload.stop();

  await client.commit();
  await Promise.all(fleet.instances.map((instance) => instance.kill()));
  await Promise.all(fleet.instances.map((instance) => instance.restart()));
  await untilCommitted(client);

  expect(await clusters.compare()).toMatchObject({ equal: true, differences: [] });
});

test('Redis forgets everything in the middle of the copy: nothing is lost (servers from 5.0)', needs({ version: [5, 0] }), async () => {
  await using clusters = await Clusters.start(twoShards);
  await loadEverything(clusters.clients.source, clusters.source, orders);
  await using fleet = await clusters.startFleet({ loadRateBytesPerSecond: 3_000_000 });
  await using workload = Workload.start(clusters.clients.source, orders);
  const { client } = fleet.coordinator;
  await client.start(plainStart);
  await untilProgress(client, 'a part is copied', ({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > 3_000_000);

  await redisCommand(fleet.redis.url, 'FLUSHALL');
  await untilCanCommit(client);
  await redisCommand(fleet.redis.url, 'FLUSHALL');
  await workload.stop();
  await untilCanCommit(client);
  await client.commit();
  await untilCommitted(client);

  expect(await clusters.compare()).toMatchObject({ equal: true, differences: [] });
});

/** Sends one inline command and waits for `+OK`. */
function redisCommand(url: string, command: string): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = createConnection(Number(port), hostname, () => socket.write(`${command}\r\n`));
    socket.once('error', reject);
    socket.once('data', (reply) => {
      socket.end();
      if (reply.toString().startsWith('+OK')) resolve();
      else reject(new Error(reply.toString()));
    });
  });
}
