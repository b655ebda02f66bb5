import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Members } from '../progress/members.js';

/** @throws ConvoyError `wrongCluster` with the instances whose configured clusters differ from the rest */
export function refuseOtherClusters({ otherClustersIds }: Members): void {
  if (otherClustersIds.length === 0) return;
  const ids = otherClustersIds.join(', ');
  throw new ConvoyError(
    'wrongCluster',
    `These instances have other clusters configured than the rest: ${ids}. Nothing was sent. Configure the ` +
      'same cluster0 and cluster1 for all.',
  );
}
