import type { Inventory } from '@convoy/api/contract/inventory';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';
import { asUnavailable } from '../../cluster/connection-failure.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { InstanceConfig } from '../../config/instance-schema.js';
import { reportStart } from '../../preflight/check-start.js';
import { repeatUnanswered } from '../../preflight/repeat-unanswered.js';
import type { PreflightItem, PreflightReport } from '../../preflight/report.js';
import { type ClusterName, connectConfigured, connectSource, requireClusterName } from '../migration/clusters.js';

/**
 * Checks whether a migration could start with these settings and options. It needs no running instance and changes
 * nothing. Clusters that cannot be reached or used are findings, one for each.
 * @param onInventory receives what both clusters have besides data, if they can be read
 * @throws ConvoyError `clusterUnknown`
 */
export async function preflight(
  config: InstanceConfig,
  request: StartRequest,
  signal: AbortSignal,
  onInventory?: (inventory: Inventory) => void,
): Promise<PreflightReport> {
  const sourceName = requireClusterName(request.source);
  const destinationName = requireClusterName(request.destination);
  const { syncUser, memoryBytesMax } = config;
  const [source, destination] = await Promise.allSettled([
    openToCheck(config, sourceName, signal),
    connectConfigured(config, destinationName, 'router', signal),
  ]);
  try {
    if (source.status === 'rejected' || destination.status === 'rejected') {
      const items = [
        ...(source.status === 'rejected' ? [unusable('source', sourceName, source.reason)] : []),
        ...(destination.status === 'rejected' ? [unusable('destination', destinationName, destination.reason)] : []),
      ];
      return { canStart: false, items };
    }
    const { cluster, refused } = source.value;
    const input = {
      source: cluster,
      destination: destination.value,
      request,
      signal,
      memoryBytesMax,
      openNextSource: () => connectSource(config, destinationName, config.sourceAccess, signal),
      ...(syncUser === undefined ? {} : { syncUser }),
      ...(onInventory === undefined ? {} : { onInventory }),
    };
    const report = await repeatUnanswered(() => reportStart(input), destinationName, signal);
    return refused === null ? report : withRefusal(report, refused);
  } finally {
    if (source.status === 'fulfilled') await source.value.cluster.close();
    if (destination.status === 'fulfilled') await destination.value.close();
  }
}

/**
 * Connects to the source as the configuration says. Shards that cannot be read directly are one finding: through the
 * router everything else is checked too.
 */
async function openToCheck(
  config: InstanceConfig,
  name: ClusterName,
  signal: AbortSignal,
): Promise<{ cluster: ClusterClient; refused: ConvoyError | null }> {
  try {
    return { cluster: await connectSource(config, name, config.sourceAccess, signal), refused: null };
  } catch (error) {
    if (!isConvoyError(error, 'shardsNotReachable')) throw error;
    return { cluster: await connectConfigured(config, name, 'router', signal), refused: error };
  }
}

/** The finding takes the place of what the check found through the router, unless that prevents a start too. */
function withRefusal({ items }: PreflightReport, refused: ConvoyError): PreflightReport {
  const others = items.filter(({ check, result }) => check !== 'clusters' || result === 'failed');
  return { canStart: false, items: [failed(refused), ...others] };
}

/** @throws the error itself if it says nothing about the cluster */
function unusable(role: 'source' | 'destination', name: ClusterName, thrown: unknown): PreflightItem {
  const error = asUnavailable(role, name, thrown);
  if (!(error instanceof ConvoyError)) throw error;
  return failed(error);
}

function failed({ error, errorDescription }: ConvoyError): PreflightItem {
  return { check: 'clusters', result: 'failed', error, description: errorDescription };
}
