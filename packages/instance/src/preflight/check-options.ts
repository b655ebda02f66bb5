import { blockedClusters } from '@convoy/api/contract/write-blocking';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { StartRequest } from '@convoy/api/contract/start-request';
import type { ClusterClient } from '../cluster/node-client.js';
import { binaryVersion } from '../cluster/topology.js';
import { writeBlockVersion } from '../cluster/write-block.js';

/**
 * The rules for options, versions and topologies that do not need the catalogs (contract 2.1, 2.3 and 4.1).
 * @throws ConvoyError with the name of the first rule that is broken
 */
export function checkOptions(source: ClusterClient, destination: ClusterClient, request: StartRequest): void {
  checkShardingOption(source, destination, request);
  checkReversible(source, destination, request);
  if (request.keepBalancer === true && (source.kind !== 'sharded' || source.access !== 'router'))
    throw new ConvoyError('keepBalancerNeedsRouter');
  if (source.access === 'router' && (request.copyInNaturalOrder !== undefined || request.detectRandomId === true))
    throw new ConvoyError('naturalOrderNeedsDirectAccess');
  const blocked = blockedClusters(request.enableUserWriteBlocking);
  if (blocked.source && binaryVersion(source)[0] < writeBlockVersion)
    throw new ConvoyError('writeBlockingNeedsSource60');
  if (blocked.destination && binaryVersion(destination)[0] < writeBlockVersion)
    throw new ConvoyError('writeBlockingNeedsDestination60');
}

function checkShardingOption(source: ClusterClient, destination: ClusterClient, request: StartRequest): void {
  const needsSharding = source.kind === 'replicaSet' && destination.kind === 'sharded';
  if (needsSharding && request.sharding === undefined) throw new ConvoyError('shardingRequired');
  if (!needsSharding && request.sharding !== undefined) throw new ConvoyError('shardingNotAllowed');
}

function checkReversible(source: ClusterClient, destination: ClusterClient, request: StartRequest): void {
  if (!request.reversible) return;
  if (request.buildIndexes === 'never') throw new ConvoyError('buildIndexesNeverWithReversible');
  if (binaryVersion(source)[0] < writeBlockVersion) throw new ConvoyError('reversibleNeedsSource60');
  if (source.kind !== destination.kind) throw new ConvoyError('reversibleUnsupportedTopology');
  if (source.shardIds.length !== destination.shardIds.length) throw new ConvoyError('reversibleNeedsEqualShardCounts');
  if (!blockedClusters(request.enableUserWriteBlocking).source) throw new ConvoyError('reversibleNeedsWriteBlocking');
}
