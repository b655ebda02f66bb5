import { describe, expect, test } from 'vitest';
import { backendVersion } from '@convoy/testbed/cluster/server-version';
import { startLocalCluster } from '@convoy/testbed/cluster/local-cluster';
import { isAutoMergerOff, readBalancer, restoreBalancer, stopBalancer } from '../../../src/cluster/balancer.js';
import { appendNote, currentTime, operationTimes } from '../../../src/cluster/cluster-time.js';
import { classify } from '../../../src/cluster/failure.js';
import { openCluster } from '../../../src/cluster/open-cluster.js';
import { SplitCluster } from './split-cluster.js';

describe('a sharded cluster', () => {
  test('is opened with a client of every shard', async () => {
    await using servers = await SplitCluster.start({ direct: true });
    const { cluster, signal } = servers;
    expect(cluster).toMatchObject({
      kind: 'sharded',
      version: (await backendVersion()).slice(0, 3),
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
    expect(await readBalancer(cluster, { signal })).toMatchObject({ enabled: false, busy: false, moves: [] });
    await restoreBalancer(cluster, before, { signal });
    expect((await readBalancer(cluster, { signal }))?.enabled).toBe(true);
  });

  test('keeps the AutoMerger off where somebody has turned it off, which the balancer would turn on', async () => {
    await using servers = await SplitCluster.start({ direct: false, release: '8.0' });
    const { cluster, signal } = servers;
    const isOff = (): Promise<boolean> => isAutoMergerOff(cluster, { signal });
    await servers.admin({ balancerStart: 1 });
    expect(await isOff()).toBe(false);
    const off = { q: { _id: 'automerge' }, u: { $set: { enabled: false } }, upsert: true };
    const writeConcern = { w: 'majority' };
    await cluster.router.command('config', { update: 'settings', updates: [off], writeConcern }, { signal });
    const autoMergerOff = await isOff();
    const before = await stopBalancer(cluster, { signal, poll_ms: 10 });
    if (before === null) throw new Error('a sharded cluster has a balancer');
    await restoreBalancer(cluster, { ...before, autoMergerOff }, { signal });
    expect([autoMergerOff, await isOff()]).toEqual([true, true]);
    await restoreBalancer(cluster, before, { signal });
    expect(await isOff()).toBe(false);
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

test('reads in flight survive that a primary steps down: each fails as retryable or succeeds', async () => {
  const servers = await startLocalCluster({ topology: 'replicaSet' });
  const signal = AbortSignal.timeout(60_000);
  const cluster = await openCluster('cluster0', servers.connectionString, { direct: true, signal });
  try {
    await cluster.router.command('shop', { insert: 'orders', documents: [{ _id: 1 }] }, { signal });
    const outcomes = new Set<string>();
    const read = async (): Promise<string> => {
      const cursor = await cluster.router.openCursor('shop', { find: 'orders' }, { signal });
      return `${cursor.first.documents.length} document`;
    };
    const reader = async (): Promise<void> => {
      let outcome: string;
      do outcomes.add((outcome = await read().catch(classify)));
      while (!signal.aborted && (!outcomes.has('retryable') || outcome === 'retryable'));
    };
    const readers = Array.from({ length: 6 }, reader);
    await cluster.router.command('admin', { replSetStepDown: 2, force: true }, { signal });
    await Promise.all(readers);
    expect([...outcomes].sort()).toEqual(['1 document', 'retryable']);
  } finally {
    await cluster.close();
    await servers.close();
  }
});
