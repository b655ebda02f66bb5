import { BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../../src/async/clock.js';
import { ClusterWatch } from '../../../../src/lifecycle/instance/migration-observer.js';
import { fakeCluster, FakeNodeClient, serverError } from '../../fake-node-client.js';
import { only } from '../../../../../../test/only.js';

const { signal } = new AbortController();

/** A clock on which every measurement takes this long, and a sleep no time. */
function clockOf(look_ms: number): Clock {
  let now_ms = 0;
  return only<Clock>({ monotonic_ms: () => (now_ms += look_ms), sleep: () => Promise.resolve() });
}

function routerOf(t: number): FakeNodeClient {
  const clusterTime = new BSON.Timestamp({ t, i: 1 });
  return new FakeNodeClient('router', {
    ping: () => ({ ok: 1, operationTime: clusterTime, $clusterTime: { clusterTime } }),
  });
}

function shardOf(first: number, last: number): FakeNodeClient {
  return new FakeNodeClient('shard', {
    find: (_database, command) => ({
      cursor: {
        firstBatch: [
          { ts: new BSON.Timestamp({ t: (command.sort as { $natural: number }).$natural === 1 ? first : last, i: 1 }) },
        ],
      },
    }),
    aggregate: () => ({ cursor: { firstBatch: [{ storageStats: { size: 50, maxSize: 100 } }] } }),
  });
}

const unreachable = new FakeNodeClient('router', {
  ping: () => {
    throw serverError(6, 'HostUnreachable');
  },
});

/** Watches for this many rounds. */
async function watched(watch: ClusterWatch, turns = 1): Promise<ClusterWatch> {
  let left = turns;
  await watch.run(() => left-- === 0, signal);
  return watch;
}

const destination = fakeCluster({ router: routerOf(7) });

describe('the measurements of the clusters', () => {
  it('are round trips, averaged, and the time of the source', async () => {
    const watch = await watched(
      new ClusterWatch(fakeCluster({ router: routerOf(1234), access: 'router' }), destination, ['shard0'], clockOf(5)),
      3,
    );
    expect(watch.sourceTime_seconds).toBe(1234);
    expect(watch.sourcePing_ms).toBeGreaterThan(0);
    expect(watch.destinationPing_ms).toBeGreaterThan(0);
  });

  it('are the oplogs of the own shards, where they are readable', async () => {
    const shards = new Map([
      ['shard0', shardOf(100, 500)],
      ['shard1', new FakeNodeClient('shard', {})],
    ]);
    const source = fakeCluster({ router: routerOf(500), shards, access: 'direct' });
    const watch = await watched(new ClusterWatch(source, destination, ['shard0', 'shard1'], clockOf(1)));
    expect([...watch.oplogs]).toEqual([['shard0', { newest_seconds: 500, covered_seconds: 400, fullness: 0.5 }]]);
    expect(watch.seesOplogs).toBe(true);
  });

  it('are no oplogs through a router', async () => {
    const watch = await watched(
      new ClusterWatch(fakeCluster({ router: routerOf(1), access: 'router' }), destination, ['shard0'], clockOf(1)),
      10,
    );
    expect([watch.seesOplogs, watch.oplogs.size]).toEqual([false, 0]);
  });

  it('are unknown without an answer, except for the last known time of the source', async () => {
    const watch = await watched(
      new ClusterWatch(fakeCluster({ router: unreachable, access: 'router' }), destination, ['shard0'], clockOf(1)),
    );
    expect([watch.sourcePing_ms, watch.sourceTime_seconds]).toEqual([null, null]);
    expect(watch.destinationPing_ms).not.toBeNull();
  });
});
