import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { asUnavailable } from '../../cluster/connection-failure.js';
import type { InstanceConfig } from '../../config/instance-schema.js';
import { reportStart } from '../../preflight/check-start.js';
import type { PreflightItem, PreflightReport } from '../../preflight/report.js';
import { type ClusterName, connectConfigured, connectSource, requireClusterName } from '../migration/clusters.js';

/**
 * Checks whether a migration could start with these settings and options. It needs no running instance and changes
 * nothing. Clusters that cannot be reached or used are findings, one for each.
 * @throws ConvoyError `clusterUnknown`
 */
export async function preflight(
  config: InstanceConfig,
  request: StartRequest,
  signal: AbortSignal,
): Promise<PreflightReport> {
  const sourceName = requireClusterName(request.source);
  const destinationName = requireClusterName(request.destination);
  const { syncUser, memoryBytesMax } = config;
  const opened = await Promise.allSettled([
    connectSource(config, sourceName, config.sourceAccess, signal),
    connectConfigured(config, destinationName, 'router', signal),
  ]);
  const [source, destination] = opened;
  try {
    if (source.status === 'rejected' || destination.status === 'rejected') {
      const items = [
        ...(source.status === 'rejected' ? [unusable('source', sourceName, source.reason)] : []),
        ...(destination.status === 'rejected' ? [unusable('destination', destinationName, destination.reason)] : []),
      ];
      return { canStart: false, items };
    }
    return await reportStart({
      source: source.value,
      destination: destination.value,
      request,
      signal,
      memoryBytesMax,
      ...(syncUser === undefined ? {} : { syncUser }),
    });
  } finally {
    for (const one of opened) if (one.status === 'fulfilled') await one.value.close();
  }
}

/** @throws the error itself if it says nothing about the cluster */
function unusable(role: 'source' | 'destination', name: ClusterName, thrown: unknown): PreflightItem {
  const error = asUnavailable(role, name, thrown);
  if (!(error instanceof ConvoyError)) throw error;
  return { check: 'clusters', result: 'failed', error: error.error, description: error.errorDescription };
}
