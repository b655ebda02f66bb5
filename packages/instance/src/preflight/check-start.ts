import type { Inventory } from '@convoy/api/contract/inventory';
import type { Warning } from '@convoy/api/contract/progress';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { refuseSeriesBetween, refuseTimeSeries } from '../catalog/unsupported-collections.js';
import { type Clock, systemClock } from '../async/clock.js';
import { applyShardingEntries, type DestinationPlan, planDestination } from '../catalog/destination-plan.js';
import { withSampledRanges } from '../catalog/distribution.js';
import { finalIndexScope } from '../catalog/index-plan.js';
import { listNamespaces } from '../catalog/list-namespaces.js';
import type { NamespaceFilter } from '../catalog/namespace-filter.js';
import { compileNamespaceRemap, noRemap, refuseUnmappable } from '../catalog/namespace-remap.js';
import type { Catalog } from '../catalog/namespace.js';
import { type CatalogReport, readSettledCatalog } from '../catalog/read-catalog.js';
import { codeOf, unauthorizedCode } from '../cluster/failure.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { checkCatalogPrivileges, checkReaders } from './catalog-privileges.js';
import {
  adviseBalancers,
  adviseUnseen,
  checkClusters,
  checkFeatureVersions,
  checkOplogWindow,
} from './check-clusters.js';
import { checkDestination, checkDiskSpace } from './check-destination.js';
import { examineInventory } from './check-inventory.js';
import { readBoth } from '../inventory/take-inventory.js';
import { adviseMatched, checkDocumentFilters, checkOptions, compileNames, type Names } from './check-options.js';
import { checkUsers } from './check-privileges.js';
import { checkServerParameters } from './check-server-parameters.js';
import { adviseEqualIds, checkSourceCatalog, checkViews, describeCollections } from './check-source-catalog.js';
import { checkVerification } from './check-verification.js';
import { type CheckName, Examination, type PreflightReport } from './examination.js';

export interface StartCheck {
  source: ClusterClient;
  destination: ClusterClient;
  request: StartRequest;
  signal: AbortSignal;
  /** The memory bound of the process that will migrate. */
  memoryBytesMax?: number;
  /** How long the copy will read at one time. */
  partition_seconds?: number;
  /** Default: the machine's own. */
  clock?: Clock;
  /** The configured `syncUser`, if there is one: connections as another user are refused. */
  syncUser?: string;
  /** Connects to the destination as the source of a reverse. Absent: nothing is known of how a reverse reads it. */
  openNextSource?: () => Promise<ClusterClient>;
  /** Receives the findings up to the first refusal, whether the check passes or throws. */
  onReport?: (report: PreflightReport) => void;
  /** Receives what both clusters have besides data, once it is read. */
  onInventory?: (inventory: Inventory) => void;
}

export interface StartCheckResult {
  warnings: Warning[];
  /** The source's catalog, with the shard keys of the request's `sharding` document applied. */
  sourceCatalog: Catalog;
  /** The plan for `createCollections`; new shard keys are pre-split by a sample of the source. */
  plan: DestinationPlan;
}

/**
 * Checks every condition for a start, from the cheapest to the most expensive, and changes nothing on either cluster.
 * @throws ConvoyError with the name of the first condition that does not hold
 */
export async function checkStart(input: StartCheck): Promise<StartCheckResult> {
  const { source, destination, request, signal } = input;
  const examination = new Examination('throw');
  const sourceCatalog = (await examine(input, examination).finally(() => input.onReport?.(examination.report))) ?? [];
  const planned = planDestination(sourceCatalog, {
    source,
    destination,
    indexScope: finalIndexScope(request.buildIndexes),
    remap: compileNamespaceRemap(request.namespaceRemap),
  });
  const plan = request.sharding === undefined ? planned : await withSampledRanges(planned, source, destination, signal);
  return { warnings: [...examination.warnings, ...plan.warnings], sourceCatalog, plan };
}

/**
 * Checks what can differ for an instance that joins a recorded migration: its settings, connections and users. The
 * first instance has checked the catalogs, whose reading takes commands for each collection.
 * @throws ConvoyError with the name of the first condition that does not hold
 */
export async function checkJoin(input: StartCheck): Promise<void> {
  const examination = new Examination('throw');
  try {
    await examineClusters(input, examination);
    await examination.check('verification', () => checkVerification(input, []));
  } finally {
    input.onReport?.(examination.report);
  }
}

/** Checks the same conditions, continues after a refusal, and reports what each found. */
export async function reportStart(input: StartCheck): Promise<PreflightReport> {
  const examination = new Examination('goOn');
  await examine(input, examination);
  return examination.report;
}

/** @returns the catalog to migrate; undefined if a refusal prevented reading it */
async function examine(input: StartCheck, examination: Examination): Promise<Catalog | undefined> {
  const { source, destination, request, signal } = input;
  const names = await examineClusters(input, examination);
  const reads = {
    ...(names === undefined ? {} : { inventories: readBoth({ source, destination, former: null }, signal) }),
    balancers: adviseBalancers(source, destination, request, signal),
    oplogWindow: checkOplogWindow(source, signal),
  };
  return meanwhile(reads, async ({ inventories, balancers, oplogWindow }) => {
    const catalog = names === undefined ? undefined : await examineCatalog(input, names, examination);
    if (inventories === undefined)
      for (const check of [...CATALOG_CHECKS, 'carry', 'inventory'] as const) examination.skip(check);
    else await examineInventory(input, await inventories, examination);
    await examination.advise('balancers', () => balancers);
    await examination.advise('oplogWindow', () => oplogWindow);
    return catalog;
  });
}

/** Hands reads that have begun to checks, which take them in their order. They end before it returns or throws. */
async function meanwhile<Reads extends Record<string, Promise<unknown>>, Result>(
  reads: Reads,
  check: (reads: Reads) => Promise<Result>,
): Promise<Result> {
  const ended = Promise.allSettled(Object.values(reads));
  try {
    return await check(reads);
  } finally {
    await ended;
  }
}

/** @returns undefined if the request's names were refused */
async function examineClusters(input: StartCheck, examination: Examination): Promise<Names | undefined> {
  const { source, destination, request, signal } = input;
  await examination.check('clusters', () => checkClusters(source, destination));
  await examination.advise('recordedReleases', () => adviseUnseen(source, destination));
  await examination.check('options', () => checkOptions(source, destination, request));
  const names = await examination.require(
    'filter',
    () => compileNames(request),
    () => 'The filter is well-formed.',
  );
  const reads = {
    versions: checkFeatureVersions(source, destination, request, signal),
    users: checkUsers(input),
    parameters: checkServerParameters(input),
  };
  return meanwhile(reads, async ({ versions, users, parameters }) => {
    await examination.check('featureCompatibilityVersion', () => versions);
    await examination.check('privileges', () => users);
    await examination.check('serverParameters', () => parameters);
    return names;
  });
}

async function examineCatalog(
  input: StartCheck,
  { filter, remap }: Names,
  examination: Examination,
): Promise<Catalog | undefined> {
  const { source, destination, request, signal } = input;
  const read = await examination.require(
    'collections',
    () => readSource(input, filter),
    () => null,
  );
  if (read === undefined) {
    for (const check of CATALOG_CHECKS) if (check !== 'collections') examination.skip(check);
    return undefined;
  }
  const accepted = await examination.require(
    'collections',
    async () => {
      refuseTimeSeries(read, source);
      const found = checkSourceCatalog(read, request);
      refuseSeriesBetween(read.catalog, [source, destination], request.reversible);
      await checkDocumentFilters(source, read.catalog, request, signal);
      refuseUnmappable(remap, read.catalog);
      await checkViews(source, destination, read.catalog, remap, signal);
      return found;
    },
    ({ chosen }) => describeCollections(chosen),
  );
  const report = accepted?.report ?? read;
  const catalog = await examination.require(
    'sharding',
    () => shardedAsAsked(report.catalog, request, filter),
    () => describeSharding(request),
  );
  const planned = catalog ?? report.catalog;
  await examination.check('verification', () => checkVerification(input, planned));
  await examination.check('destination', async () => {
    const there = planned.map((entry) => remap.onDestination(entry));
    await checkCatalogPrivileges({ ...input, reversible: request.reversible }, planned, there);
    return checkDestination(destination, there, remap.filterOnDestination(filter), signal);
  });
  await examination.advise('matched', () => adviseMatched(planned, request, accepted ? remap : noRemap));
  await examination.advise('diskSpace', () => checkDiskSpace(destination, planned, signal));
  await examination.advise('equalIds', () => adviseEqualIds(planned, destination));
  return catalog;
}

/**
 * Reads the source's catalog. If a server refuses that, the lists of its databases show whether the user lacks what
 * only some collections need.
 */
async function readSource(
  { source, signal, clock = systemClock }: StartCheck,
  filter: NamespaceFilter,
): Promise<CatalogReport> {
  try {
    return await readSettledCatalog(source, filter, clock, signal);
  } catch (failure) {
    if (codeOf(failure) !== unauthorizedCode) throw failure;
    const listed = await listNamespaces(source.router, filter, signal);
    await checkReaders(source, listed, signal);
    throw failure;
  }
}

/** Checks that need the source's catalog. */
const CATALOG_CHECKS = [
  'collections',
  'sharding',
  'verification',
  'destination',
  'matched',
  'diskSpace',
  'equalIds',
] as const satisfies readonly CheckName[];

function shardedAsAsked(catalog: Catalog, { sharding }: StartRequest, filter: NamespaceFilter): Catalog {
  return sharding === undefined ? catalog : applyShardingEntries(catalog, sharding, filter);
}

function describeSharding({ sharding }: StartRequest): string {
  if (sharding === undefined) return "The source's shard keys stay as they are.";
  return `${sharding.shardingEntries.length} collections will be sharded; all others stay unsharded.`;
}
