import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Members } from '../progress/members.js';

/** @throws ConvoyError `wrongCluster` that names the instances which are configured with other clusters than the rest */
export function refuseOtherClusters({ otherClustersIds }: Members): void {
  if (otherClustersIds.length === 0) return;
  const ids = otherClustersIds.join(', ');
  throw new ConvoyError(
    'wrongCluster',
    `Instances that are configured with other clusters than the rest: ${ids}; give all the same cluster0 and cluster1. Nothing was sent.`,
  );
}
