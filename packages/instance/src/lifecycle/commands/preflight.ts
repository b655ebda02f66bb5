import type { StartRequest } from '@convoy/api/contract/start-request';
import type { ClusterClient } from '../../cluster/node-client.js';
import { asUnavailable } from '../../cluster/connection-failure.js';
import type { InstanceConfig } from '../../config/instance-schema.js';
import { reportStart } from '../../preflight/check-start.js';
import type { PreflightReport } from '../../preflight/report.js';
import { type ClusterName, connectConfigured, connectSource, requireClusterName } from '../migration/clusters.js';

/**
 * Checks whether a migration could start with these settings and options. It needs no running instance and changes
 * nothing.
 * @throws ConvoyError `clusterUnknown`, what connecting throws, `sourceUnavailable` and `destinationUnavailable`
 */
export async function preflight(
  config: InstanceConfig,
  request: StartRequest,
  signal: AbortSignal,
): Promise<PreflightReport> {
  const sourceName = requireClusterName(request.source);
  const destinationName = requireClusterName(request.destination);
  const { syncUser, memoryBytesMax } = config;
  const source = await connected(config, 'source', sourceName, signal);
  try {
    const destination = await connected(config, 'destination', destinationName, signal);
    try {
      return await reportStart({
        source,
        destination,
        request,
        signal,
        memoryBytesMax,
        ...(syncUser === undefined ? {} : { syncUser }),
      });
    } finally {
      await destination.close();
    }
  } finally {
    await source.close();
  }
}

async function connected(
  config: InstanceConfig,
  role: 'source' | 'destination',
  name: ClusterName,
  signal: AbortSignal,
): Promise<ClusterClient> {
  try {
    if (role === 'source') return await connectSource(config, name, config.sourceAccess, signal);
    return await connectConfigured(config, name, 'router', signal);
  } catch (error) {
    throw asUnavailable(role, name, error);
  }
}
