import type { Warning } from '@convoy/api/contract/progress';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { planDestination } from '../catalog/destination-plan.js';
import type { DestinationPlan } from '../catalog/destination-plan.js';
import type { Catalog } from '../catalog/namespace.js';
import { compileNamespaceFilter } from '../catalog/namespace-filter.js';
import { readCatalogReport } from '../catalog/read-catalog.js';
import { withSampledRanges } from '../catalog/sample-ranges.js';
import { applyShardingEntries } from '../catalog/sharding-plan.js';
import type { Cluster } from '../cluster/door.js';
import { checkClusters } from './check-clusters.js';
import { checkDestination } from './check-destination.js';
import { checkOptions } from './check-options.js';
import { checkSourceCatalog } from './check-source-catalog.js';
import { checkUsers } from './check-user.js';

export interface StartCheck {
  source: Cluster;
  destination: Cluster;
  request: StartRequest;
  signal: AbortSignal;
  /** The configured `syncUser`, when there is one: connections as another user are refused. */
  syncUser?: string;
  /**
   * True when the destination already holds the record of this very migration, made by a peer that was started before:
   * then the state and the collections found there are its own and are not refused.
   */
  alreadyRecorded?: boolean;
}

export interface StartCheckResult {
  warnings: Warning[];
  /** As read from the source, with the shard keys of the request's `sharding` document laid over it. */
  sourceCatalog: Catalog;
  /** What `createCollections` makes of it; new shard keys are pre-split by a sample of the source. */
  plan: DestinationPlan;
}

/**
 * Checks every condition for a start, from the cheapest to the dearest, and changes nothing on either cluster: rules
 * between options, versions and topologies, users, the source's catalog, the requested shard keys, the destination.
 * Not checked here: balancers, oplog window, disk space, equal `_id`s on two shards.
 * @throws ConvoyError with the name of the first condition that does not hold
 */
export async function checkStart(input: StartCheck): Promise<StartCheckResult> {
  const { source, destination, request, signal } = input;
  checkClusters(source, destination);
  checkOptions(source, destination, request);
  const filter = compileNamespaceFilter(request);
  await checkUsers(source, destination, input.syncUser, signal);
  const report = await readCatalogReport(source, filter, signal);
  checkSourceCatalog(report);
  const sourceCatalog = request.sharding === undefined ? report.catalog : applyShardingEntries(report.catalog, request.sharding, filter);
  if (input.alreadyRecorded !== true) await checkDestination(destination, sourceCatalog, filter, signal);
  const planned = planDestination(sourceCatalog, { source, destination, buildIndexes: request.buildIndexes });
  const plan = request.sharding === undefined ? planned : await withSampledRanges(planned, source, destination, signal);
  return { warnings: plan.warnings, sourceCatalog, plan };
}
