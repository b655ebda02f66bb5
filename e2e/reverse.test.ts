import { expect, test } from 'vitest';
import { migratorCredentials } from '@convoy/testbed/cluster/access-control';
import { Clusters, defaultStart, untilCanCommit, untilCommitted, untilTaken } from './fleet.js';
import { guarded, isFullRun, needs } from './requirements.js';
import { Workload } from './workload.js';

const twoShards = { source: { shards: 2 }, destination: { shards: 2 } };
const orders = 1_000;
/** Simulated servers of this one can neither block writes nor go back. */
const release = '5.0';
/** A server's answer to a user whose writes are blocked. */
const refused = { code: 371 };
/** Writes to a cluster before its direction is committed. */
const writesBefore = 100;

const directions = [
  { from: 'source', to: 'destination', mapping: /^cluster0: / },
  { from: 'destination', to: 'source', mapping: /^cluster1: / },
  { from: 'source', to: 'destination', mapping: /^cluster0: / },
] as const;
/** A reverse of a reverse is the same again, and `packages/instance/test/integration/reverse` has one. */
const turns = isFullRun ? directions : directions.slice(0, 2);

/** Reading through the router is what the crash tests do, too. */
const accesses = isFullRun ? ['direct', 'router'] : ['direct'];

test.each(accesses)(
  'a fleet migrates, goes back and, in full runs, once more forward, under writes until they are refused: access %s ' +
    '(servers from 6.0)',
  needs({ version: [6, 0] }),
  async (sourceAccess) => {
    await using clusters = await Clusters.loaded({ ...twoShards, ...guarded }, orders);
    const shards = sourceAccess === 'direct' ? { cluster0: migratorCredentials, cluster1: migratorCredentials } : {};
    await using fleet = await clusters.startFleetHere({ sourceAccess, shards });
    const { client } = fleet.coordinator;
    for (const [turn, { from, to, mapping }] of turns.entries()) {
      await using workload = Workload.start(clusters.shoppers[from], orders, turn);
      await expect.poll(() => workload.operations, { timeout: 100_000 }).toBeGreaterThan(writesBefore);
      if (turn === 0) await client.start({ ...defaultStart, enableUserWriteBlocking: true, reversible: true });
      else await client.reverse();
      await untilCanCommit(client);
      const { progress } = await client.progress();
      expect(progress).toMatchObject({
        canWrite: false,
        directionMapping: { Source: expect.stringMatching(mapping) as unknown },
      });
      expect(progress.verification === null).toBe(turn > 0);
      expect(progress.warnings?.map(({ name }) => name)).toContain('reverseNotVerified');
      const receiver = clusters.shoppers[to].db('e2e');
      await expect(receiver.collection('names').insertOne({ turn })).rejects.toMatchObject(refused);
      // In the end both have the definition of the cluster that users write to.
      await clusters.shoppers[from]
        .db('e2e')
        .collection('customers')
        .createIndexes([{ key: { [`turn${turn}`]: 1 } }]);
      await clusters.shoppers[from].db('e2e').collection(`made-in-turn-${turn}`).insertOne({ turn });
      // The new collection is copied first; the fleet may then say that it cannot be committed yet.
      await untilTaken(() => client.commit());
      await expect(workload.ended).rejects.toMatchObject(refused);
      for (const instance of fleet.instances) await untilCommitted(instance.client);
      await clusters.expectEqual();
      await expect(clusters.shoppers[from].db('e2e').collection('names').insertOne({ turn })).rejects.toMatchObject(
        refused,
      );
      expect(await receiver.collection('names').insertOne({ turn })).toMatchObject({ acknowledged: true });
    }
  },
);

test(
  'before 6.0 a fleet refuses to block writes and to be reversible, and cannot be reversed (servers of 5.0)',
  needs({ version: [5, 0], release, inFull: true }),
  async () => {
    await using clusters = await Clusters.start({ ...twoShards, release });
    await clusters.clients.source.db('shop').collection('orders').insertOne({ n: 1 });
    await using fleet = await clusters.startFleetHere();
    const { client } = fleet.coordinator;
    await expect(client.start({ ...defaultStart, enableUserWriteBlocking: true })).rejects.toMatchObject({
      error: 'writeBlockingNeedsSource60',
    });
    await expect(
      client.start({ ...defaultStart, enableUserWriteBlocking: true, reversible: true }),
    ).rejects.toMatchObject({ error: expect.stringMatching(/^(writeBlocking|reversible)NeedsSource60$/) as unknown });
    expect((await client.progress()).progress.state).toBe('IDLE');
    await client.start(defaultStart);
    await clusters.cutOver(client);
    await expect(client.reverse()).rejects.toMatchObject({ error: 'notReversible' });
    expect((await client.progress()).progress).toMatchObject({ state: 'COMMITTED', canWrite: true });
  },
);
