import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { InstanceReport, SeenReport } from '@convoy/api/fleet/fleet';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { ClusterName } from './clusters.js';

/** The ids of both configured clusters; null until both are reached. */
export function clusterIdsOf(clusters: ReadonlyMap<ClusterName, ClusterClient>): InstanceReport['clusterIds'] {
  const [cluster0, cluster1] = [clusters.get('cluster0'), clusters.get('cluster1')];
  return cluster0 === undefined || cluster1 === undefined
    ? null
    : { cluster0: cluster0.clusterId, cluster1: cluster1.clusterId };
}

/**
 * All instances of a migration must use the same two clusters. The live instances that are already started define them.
 * @throws ConvoyError `wrongCluster` that names an instance with other clusters
 */
export function refuseOtherClusters(own: InstanceReport['clusterIds'], reports: ReadonlyMap<string, SeenReport>): void {
  for (const { report, fresh } of reports.values()) {
    const { clusterIds, identity, optionsDigest } = report;
    if (!fresh || optionsDigest === null || clusterIds === null || own === null) continue;
    if (clusterIds.cluster0 === own.cluster0 && clusterIds.cluster1 === own.cluster1) continue;
    throw new ConvoyError(
      'wrongCluster',
      `This instance is configured with other clusters than ${identity.id}, which was started already; ` +
        'give all the same cluster0 and cluster1.',
    );
  }
}
