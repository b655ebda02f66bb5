import { carriedKindsOf } from '@convoy/api/contract/carry';
import { blockedClusters } from '@convoy/api/contract/write-blocking';
import type { Inventory } from '@convoy/api/contract/inventory';
import type { Warning } from '@convoy/api/contract/progress';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { nameSome } from '../catalog/name-some.js';
import { type ChosenIndex, chosenWarning, describeChosen } from '../catalog/chosen-indexes.js';
import { finalIndexScope } from '../catalog/index-plan.js';
import { applyShardingEntries, type DestinationPlan, planDestination } from '../catalog/destination-plan.js';
import type { Catalog } from '../catalog/namespace.js';
import { compileNamespaceFilter, compileSelectors, type NamespaceFilter } from '../catalog/namespace-filter.js';
import { compileNamespaceRemap, type NamespaceRemap, noRemap, refuseUnmappable } from '../catalog/namespace-remap.js';
import { type CatalogReport, readSettledCatalog } from '../catalog/read-catalog.js';
import { withSampledRanges } from '../catalog/distribution.js';
import { inventoryOf, readBoth } from '../inventory/take-inventory.js';
import { type Clock, systemClock } from '../async/clock.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { binaryVersion } from '../cluster/topology.js';
import { adviseBalancers, adviseEqualIds, adviseMatched } from './advise.js';
import { adviseUnseen } from './advise-unseen.js';
import { checkCatalogPrivileges } from './check-catalog-privileges.js';
import { checkClusters } from './check-clusters.js';
import { checkDestination } from './check-destination.js';
import { checkDiskSpace } from './check-disk-space.js';
import { checkDocumentFilters } from './check-document-filters.js';
import { checkCarry, checkInventory } from './check-inventory.js';
import { checkFeatureVersions, describeFeatureVersions } from './check-feature-versions.js';
import { checkOplogWindow } from './check-oplog-window.js';
import { checkOptions } from './check-options.js';
import { checkServerParameters } from './check-server-parameters.js';
import { refuseServerDatabases } from './check-filter.js';
import { checkSourceCatalog } from './check-source-catalog.js';
import { checkShardUsers, checkUsers, describeUsers } from './check-user.js';
import { checkVerification, describeVerification } from './check-verification.js';
import { checkViews } from './check-views.js';
import { type Advice, Examination, warning } from './examination.js';
import type { CheckName, PreflightReport } from './report.js';

export interface StartCheck {
  source: ClusterClient;
  destination: ClusterClient;
  request: StartRequest;
  signal: AbortSignal;
  /** The memory bound of the process that will migrate. */
  memoryBytesMax?: number;
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
    await examineVerification(input, [], examination);
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

/** @returns the catalog to migrate; undefined if a refusal prevented reading it */
async function examine(input: StartCheck, examination: Examination): Promise<Catalog | undefined> {
  const { source, destination, request, signal } = input;
  const names = await examineClusters(input, examination);
  const catalog = names === undefined ? undefined : await examineCatalog(input, names, examination);
  if (names === undefined) for (const check of CATALOG_CHECKS) examination.skip(check);
  if (names === undefined) for (const check of ['carry', 'inventory'] as const) examination.skip(check);
  else await examineInventory(input, examination);
  await examination.advise('balancers', () => adviseBalancers(source, destination, request, signal));
  await examination.advise('oplogWindow', () => checkOplogWindow(source, signal));
  return catalog;
}

/** What the clusters have besides data: what the commit can take along, and what stays behind. */
async function examineInventory(
  { source, destination, request, signal, clock = systemClock, onInventory }: StartCheck,
  examination: Examination,
): Promise<void> {
  const found = await readBoth({ source, destination, former: null }, signal);
  const taken = inventoryOf({ request, turns: 0, reverses: false, now_ms: clock.now_ms() }, found);
  onInventory?.(taken.inventory);
  await examination.require(
    'carry',
    () => checkCarry({ source, destination, request }, found),
    (description) => description,
  );
  await examination.advise('inventory', () => checkInventory(taken.left, found.source));
}

/** Which namespaces to migrate, and their names on the destination. */
interface Names {
  filter: NamespaceFilter;
  remap: NamespaceRemap;
}

/** @returns undefined if the request's names were refused */
async function examineClusters(input: StartCheck, examination: Examination): Promise<Names | undefined> {
  const { source, destination, request, signal } = input;
  await examination.require(
    'clusters',
    () => checkClusters(source, destination),
    () => describeClusters(source, destination),
  );
  await examination.advise('recordedReleases', () => adviseUnseen(source, destination));
  await examination.require(
    'options',
    () => checkOptions(source, destination, request),
    () => 'The options fit the versions and topologies.',
  );
  const names = await examination.require(
    'filter',
    () => {
      compileSelectors(request.copyInNaturalOrder ?? []);
      refuseServerDatabases(request);
      return { filter: compileNamespaceFilter(request), remap: compileNamespaceRemap(request.namespaceRemap) };
    },
    () => 'The filter is well-formed.',
  );
  await examination.require(
    'featureCompatibilityVersion',
    () => checkFeatureVersions(source, destination, request, signal),
    describeFeatureVersions,
  );
  const users = {
    syncUser: input.syncUser,
    blocked: blockedClusters(request.enableUserWriteBlocking),
    reverses: request.reversible,
    verifies: request.verification.enabled,
    carries: carriedKindsOf(request.carry),
  };
  await examination.require(
    'privileges',
    async () => {
      const checked = await checkUsers(source, destination, users, signal);
      if (request.reversible) await checkReverseUsers(input);
      return checked;
    },
    describeUsers,
  );
  await examination.require(
    'serverParameters',
    () => checkServerParameters([source, destination], signal),
    (finding) => finding,
  );
  return names;
}

/** A reverse may read the destination's shards directly, and can only fail once the clusters have swapped roles. */
async function checkReverseUsers({ openNextSource, signal }: StartCheck): Promise<void> {
  const next = await openNextSource?.();
  if (next === undefined) return;
  try {
    await checkShardUsers(next, signal);
  } finally {
    await next.close();
  }
}

async function examineCatalog(
  input: StartCheck,
  { filter, remap }: Names,
  examination: Examination,
): Promise<Catalog | undefined> {
  const { source, destination, request, signal } = input;
  const read = await examination.require(
    'collections',
    () => readSettledCatalog(source, filter, input.clock ?? systemClock, signal),
    () => null,
  );
  if (read === undefined) {
    for (const check of CATALOG_CHECKS) if (check !== 'collections') examination.skip(check);
    return undefined;
  }
  const accepted = await examination.require(
    'collections',
    async () => {
      const found = checkSourceCatalog(read, request);
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
    () => shardedAsAsked(report, request, filter),
    () => describeSharding(request),
  );
  const planned = catalog ?? report.catalog;
  await examineVerification(input, planned, examination);
  await examination.require(
    'destination',
    async () => {
      const there = planned.map((entry) => remap.onDestination(entry));
      await checkCatalogPrivileges({ source, destination }, planned, there, signal);
      await checkDestination(destination, there, remap.filterOnDestination(filter), signal);
    },
    () => 'The destination is free for what is to be migrated.',
  );
  await examination.advise('matched', () => adviseMatched(planned, request, accepted ? remap : noRemap));
  await examination.advise('diskSpace', () => checkDiskSpace(destination, planned, signal));
  await examination.advise('equalIds', () => adviseEqualIds(planned, destination));
  return catalog;
}

async function examineVerification(input: StartCheck, catalog: Catalog, examination: Examination): Promise<void> {
  await examination.require(
    'verification',
    () => checkVerification(input, catalog),
    () => describeVerification(input.request),
  );
}

function describeCollections(chosen: readonly ChosenIndex[]): Advice {
  const description = describeChosen(chosen);
  if (description === null) return 'Every collection, view and index can be migrated.';
  return warning(chosenWarning, description);
}

function shardedAsAsked({ catalog }: CatalogReport, request: StartRequest, filter: NamespaceFilter): Catalog {
  return request.sharding === undefined ? catalog : applyShardingEntries(catalog, request.sharding, filter);
}

function describeSharding({ sharding }: StartRequest): string {
  if (sharding === undefined) return "The source's shard keys stay as they are.";
  return `${sharding.shardingEntries.length} collections will be sharded; all others stay unsharded.`;
}

function describeClusters(source: ClusterClient, destination: ClusterClient): Advice {
  const described = `${describeCluster(source)} to ${describeCluster(destination)}.`;
  if (source.directRefusal === undefined) return described;
  const description =
    `${described} Convoy reads the source through its router, which is slower. ${source.directRefusal} Or set ` +
    'sourceAccess to router.';
  return warning('sourceReadThroughRouter', description);
}

/** To start instances, users need the names of all shards; longer lists are available elsewhere. */
const shardsNamedMax = 64;

function describeCluster(cluster: ClusterClient): string {
  const { name, kind, shardIds } = cluster;
  const shards = `${shardIds.length} shards: ${nameSome(shardIds, shardsNamedMax)}`;
  return `${name} (${binaryVersion(cluster).join('.')}, ${kind === 'sharded' ? shards : 'replica set'})`;
}
