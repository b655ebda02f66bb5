import { describe, expect, test } from 'vitest';
import { startLocalCluster } from '@convoy/testbed/cluster/local-cluster';
import { readBalancer, restoreBalancer, stopBalancer } from '../../../src/cluster/balancer.js';
import { appendNote, currentTime, operationTimes } from '../../../src/cluster/cluster-time.js';
import { openCluster } from '../../../src/cluster/open-cluster.js';
import { SplitCluster } from './split-cluster.js';

describe('a sharded cluster', () => {
  test('is opened with a client of every shard', async () => {
    await using servers = await SplitCluster.start({ direct: true });
    const { cluster, signal } = servers;
    expect(cluster).toMatchObject({
      kind: 'sharded',
      version: [5, 0, 7],
      shardIds: ['shard0', 'shard1'],
      displayHost: new URL(servers.connectionString).host,
    });
    expect(cluster.clusterId).toMatch(/^[0-9a-f]{24}$/);
    const times = await operationTimes(cluster, { signal });
    expect([...times.keys()]).toEqual(['shard0', 'shard1']);
    const noted = await appendNote(cluster.shard('shard1'), { signal });
    expect(noted).toBeGreaterThan(times.get('shard1') ?? noted);
    expect(await currentTime(cluster.router, { signal })).toBeGreaterThan(0n);
  });

  test('has a balancer that can be stopped and restored', async () => {
    await using servers = await SplitCluster.start({ direct: false });
    const { cluster, signal } = servers;
    await servers.admin({ balancerStart: 1 });
    const before = await stopBalancer(cluster, { signal, poll_ms: 10 });
    expect(before?.enabled).toBe(true);
    expect(await readBalancer(cluster, { signal })).toEqual({ enabled: false, busy: false });
    await restoreBalancer(cluster, before, { signal });
    expect((await readBalancer(cluster, { signal }))?.enabled).toBe(true);
  });
});

test('a replica set is opened as one shard', async () => {
  const servers = await startLocalCluster({ topology: 'replicaSet' });
  try {
    const cluster = await openCluster('cluster0', servers.connectionString, {
      direct: true,
      signal: AbortSignal.timeout(30_000),
    });
    expect(cluster.kind).toBe('replicaSet');
    expect(cluster.shardIds).toHaveLength(1);
    expect(cluster.clusterId).toMatch(/^[0-9a-f]{24}$/);
    expect(cluster.shard(cluster.shardIds[0] ?? '')).toBe(cluster.router);
    await cluster.close();
  } finally {
    await servers.close();
  }
});
