import { describe, expect, it } from 'vitest';
import type { InstanceReport, SeenReport } from '@convoy/api/fleet/fleet';
import { makeIdentity } from '../../../../../api/test/unit/fleet/fleet-behaviour.js';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { clusterIdsOf, refuseOtherClusters } from '../../../../src/lifecycle/migration/configured-clusters.js';
import { only } from '../../../../../../test/only.js';
import type { ClusterClient } from '../../../../src/cluster/node-client.js';

const own = { cluster0: 'x', cluster1: 'y' };

function peer(changes: Partial<InstanceReport>, fresh = true): ReadonlyMap<string, SeenReport> {
  return new Map([
    [
      'shard1',
      {
        report: idleReport(makeIdentity('shard1'), { clusterIds: own, optionsDigest: 'd', ...changes }),
        reportedAt_ms: 0,
        fresh,
      },
    ],
  ]);
}

describe('refuseOtherClusters', () => {
  it('names a peer that started with other clusters, or with the two exchanged', () => {
    for (const clusterIds of [
      { ...own, cluster1: 'z' },
      { cluster0: 'y', cluster1: 'x' },
    ]) {
      expect(() => refuseOtherClusters(own, peer({ clusterIds }))).toThrow(/shard1/);
    }
  });

  it('accepts the same clusters, peers that are silent or not started, and unknown clusters', () => {
    const clusterIds = { ...own, cluster1: 'z' };
    for (const reports of [
      peer({}),
      peer({ clusterIds, optionsDigest: null }),
      peer({ clusterIds }, false),
      peer({ clusterIds: null }),
    ]) {
      expect(() => refuseOtherClusters(own, reports)).not.toThrow();
    }
    expect(() => refuseOtherClusters(null, peer({ clusterIds }))).not.toThrow();
  });
});

it('clusters have ids once both are reached', () => {
  expect(clusterIdsOf(new Map([['cluster0', only<ClusterClient>({ clusterId: 'x' })]]))).toBeNull();
  expect(
    clusterIdsOf(
      new Map([
        ['cluster0', only<ClusterClient>({ clusterId: 'x' })],
        ['cluster1', only<ClusterClient>({ clusterId: 'y' })],
      ]),
    ),
  ).toEqual(own);
});
