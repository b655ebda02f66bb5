import type { Warning } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { shownName } from '../../cluster/time-series.js';
import { mapBounded, runTogether } from '../../async/together.js';
import { storedEntry } from '../../catalog/catalog-bytes.js';
import { compareCatalogs } from '../../catalog/compare-catalogs.js';
import { createCollections, type CreatedCollection } from '../../catalog/create-collections.js';
import type { DestinationPlan } from '../../catalog/destination-plan.js';
import { withSampledRanges } from '../../catalog/distribution.js';
import { deferAttributes } from '../../catalog/index-attributes.js';
import { hasAnyDocument } from '../../catalog/list-namespaces.js';
import { refuseUnmappable } from '../../catalog/namespace-remap.js';
import type { Catalog, CatalogEntry } from '../../catalog/namespace.js';
import { sampleTaskBounds } from '../../catalog/task-bounds.js';
import {
  type BalancerState,
  isAutoMergerOff,
  readBalancer,
  restoreBalancer,
  stopBalancer,
} from '../../cluster/balancer.js';
import { timeOf, timestampOf } from '../../cluster/cluster-time.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { drop } from '../../ddl/destination-collections.js';
import { refuseExpiring } from '../../preflight/check-verification.js';
import { UuidPairs } from '../../store/ddl-journal.js';
import { createFence, hasPredecessor } from '../../store/fence.js';
import { isOpeningDecided, type MigrationRecord } from '../../store/migration-record.js';
import { keepsBalancer, swapsOf } from '../../store/reversal.js';
import { storeEntries } from '../../store/task-storage.js';
import {
  absentRequests,
  comparisonOf,
  planOf,
  readDestinationCatalog,
  readStartCatalog,
  withRequestedSharding,
} from '../migration/migration-catalogs.js';
import {
  type LeaderDependencies,
  type MigrationDependencies,
  remapOf,
  sourceTimeAboveAll,
} from '../migration/migration-dependencies.js';
import { stepDone } from '../migration/steps.js';
import { applyWriteBlock } from '../migration/write-blocks.js';
import { skipping } from './builds.js';
import { FollowedSource } from './followed-source.js';

/**
 * The leader's first work. It blocks user writes on the destination where requested and stops both balancers, but for a
 * source's that is kept. Then it creates the fence, while it takes a start time above all running operations, stores
 * the catalog read after that, and creates collections and indexes. A later leader may repeat every step.
 */
export async function initialise(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  await applyWriteBlock(deps, 'destination', signal);
  stepDone('destinationBlocked');
  await stopBalancers(deps, signal);
  stepDone('balancersStopped');
  const made: Partial<Pick<MigrationRecord, StartedField>> = {};
  await runTogether(signal, [
    async (each) => {
      await makeFence(deps, each);
      stepDone('fenceMade');
    },
    async (each) => void Object.assign(made, await makeDestination(deps, each)),
  ]);
  const started = { ...made, phase: 'syncing', inventoryLook: 'pending' } as const;
  await deps.records.updateAsLeader(deps.leaderEpoch, started, signal);
  stepDone('syncStarted');
}

/** What the leader has found and made when the tasks may begin. */
type StartedField = 'catalogEpoch' | 'startTime' | 'estimatedTotalBytes' | 'warnings';

/** Takes the start time and the catalog, stores it, and creates on the destination what it has. */
async function makeDestination(
  deps: LeaderDependencies,
  signal: AbortSignal,
): Promise<Pick<MigrationRecord, StartedField>> {
  const { leaderEpoch } = deps;
  const { record } = deps.watch.view;
  const { startTime, catalog: found } = await startOf(deps, signal);
  const catalog = withRequestedSharding(deps, found);
  refuseExpiring(record.options, catalog);
  refuseUnmappable(remapOf(record), catalog);
  const refused: Warning[] = [];
  await runTogether(signal, [
    (each) => storeCatalog(deps, catalog, each),
    (each) => makePlanned(deps, catalog, each, (warning) => void refused.push(warning)),
  ]);
  const estimatedTotalBytes = catalog.reduce((sum, entry) => sum + entry.sizeBytes, 0);
  return {
    catalogEpoch: leaderEpoch,
    startTime: timestampOf(startTime),
    estimatedTotalBytes: Math.max(1, Math.round(estimatedTotalBytes)),
    warnings: [...deps.watch.view.record.warnings, ...absentRequests(deps, catalog), ...refused],
  };
}

async function storeCatalog(deps: LeaderDependencies, catalog: Catalog, signal: AbortSignal): Promise<void> {
  const entries = (await withTaskBounds(deps, 'source', catalog, signal)).map(storedEntry);
  await storeEntries(deps.metadata, deps.leaderEpoch, entries, signal);
  stepDone('catalogStored');
}

async function makePlanned(
  deps: LeaderDependencies,
  catalog: Catalog,
  signal: AbortSignal,
  onWarning: (warning: Warning) => void,
): Promise<void> {
  const { runtime, source, destination, metadata, leaderEpoch } = deps;
  const plan = await runtime.retrying(
    'sample shard keys',
    () => withSampledRanges(planOf(deps, catalog), source, destination, signal),
    signal,
  );
  let created: CreatedCollection[] = [];
  const noPairs = async (each: AbortSignal) => {
    // A collection that an earlier leader created may be gone from the source: nothing is copied yet.
    await metadata.deleteMany('uuids', { epoch: { $lt: leaderEpoch } }, each);
  };
  await runTogether(signal, [
    noPairs,
    async (each) => void (created = await makeCollections(deps, catalog, plan, each, onWarning)),
  ]);
  const pairs = await UuidPairs.read(metadata, leaderEpoch, signal);
  await pairs.record(
    created.filter(({ sourceUuid }) => sourceUuid !== ''),
    signal,
  );
  stepDone('collectionsMade');
}

/** With a balancer that is kept, chunks may move at any time, and the source is read through its routers. */
async function startOf(deps: LeaderDependencies, signal: AbortSignal): ReturnType<typeof takeStart> {
  const time = async () => {
    const startTime = await sourceTimeAboveAll(deps, signal);
    stepDone('startTimeTaken');
    return startTime;
  };
  const source = new FollowedSource(deps);
  const catalog = () => source.read(signal);
  if (keepsBalancer(deps.watch.view.record)) return { startTime: await time(), catalog: await catalog() };
  return takeStart({ time, catalog });
}

/** Creates the fence on the destination. */
export async function makeFence({ runtime, destination }: MigrationDependencies, signal: AbortSignal): Promise<void> {
  const { router, kind, shardIds } = destination;
  await runtime.retrying('create the fence', () => createFence(router, kind, shardIds, { signal }), signal);
}

/**
 * Records the balancers' states once, before it stops them: a later leader finds them off. It reads the record again
 * afterwards, for a leader that comes too late.
 */
export async function stopBalancers(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { runtime, source, destination, records, watch, leaderEpoch } = deps;
  let { balancers } = watch.view.record;
  const seen = new Map<ClusterClient, BalancerState | null>();
  if (balancers === null) {
    const clusters = [source, destination];
    const stateOf = async (cluster: ClusterClient) => {
      const read = () => readBalancer(cluster, { signal });
      seen.set(cluster, await runtime.retrying('read the state of a balancer', read, signal));
    };
    const isMergerOff = (cluster: ClusterClient) =>
      runtime.retrying('read the state of the AutoMerger', () => isAutoMergerOff(cluster, { signal }), signal);
    const [mergersOff] = await Promise.all([
      mapBounded(clusters, clusters.length, isMergerOff),
      mapBounded(clusters, clusters.length, stateOf),
    ]);
    const mergers = { source: mergersOff[0] === true, destination: mergersOff[1] === true };
    balancers = {
      source: seen.get(source)?.enabled === true,
      destination: seen.get(destination)?.enabled === true,
      ...(mergers.source || mergers.destination ? { autoMergersOff: mergers } : {}),
    };
    await records.updateAsLeader(leaderEpoch, { balancers }, signal);
  }
  stepDone('balancersRecorded');
  const stopped = keepsBalancer(watch.view.record) ? [destination] : [source, destination];
  await mapBounded(stopped, stopped.length, (cluster) => {
    const state = seen.get(cluster);
    const options = { signal, ...(state === undefined ? {} : { seen: state }) };
    return runtime.retrying('stop a balancer', () => stopBalancer(cluster, options), signal);
  });
  const record = await records.read(signal);
  if (record === null || isOpeningDecided(record)) {
    const before = balancersAfter({ balancers, reversal: watch.view.record.reversal ?? null });
    for (const side of ['destination', 'source'] as const) await restoreBalancerOf(deps, side, before, signal);
  }
  await records.confirmLeader(leaderEpoch, signal);
}

/**
 * The balancers' states after the commit. While the migration can be reversed, the chunks of the new cluster stay where
 * they are.
 */
export function balancersAfter({
  balancers,
  reversal,
}: Pick<MigrationRecord, 'balancers' | 'reversal'>): NonNullable<MigrationRecord['balancers']> {
  const former = balancers ?? { source: false, destination: false };
  return { ...former, destination: former.destination && !reversal };
}

/**
 * Starts a balancer that was on. This also corrects a frozen leader that thaws and stops a balancer after its restart.
 */
export async function restoreBalancerOf(
  deps: MigrationDependencies,
  side: 'source' | 'destination',
  before: NonNullable<MigrationRecord['balancers']>,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, [side]: cluster } = deps;
  await runtime.retrying(
    'restore a balancer',
    () =>
      restoreBalancer(
        cluster,
        { enabled: before[side], autoMergerOff: before.autoMergersOff?.[side] === true },
        { signal },
      ),
    signal,
  );
}

/** Collections sampled concurrently. */
const samplesParallel = 8;

/**
 * Through a router, every instance reads a range of the large collections, and all have to use the same ranges.
 * @param side whose catalog it is; the destination's is read as it will be once it is the source
 */
export async function withTaskBounds(
  deps: MigrationDependencies,
  side: 'source' | 'destination',
  catalog: Catalog,
  signal: AbortSignal,
): Promise<Catalog> {
  const { runtime, [side]: cluster, watch } = deps;
  const access = side === 'source' ? cluster.access : (watch.view.record.reversal?.accessBack ?? cluster.access);
  if (access === 'direct') return catalog;
  const bounds = (entry: CatalogEntry) =>
    runtime.retrying('sample _ids', () => sampleTaskBounds(cluster, entry, signal), signal);
  return mapBounded(catalog, samplesParallel, async (entry) => ({ ...entry, taskBounds: await bounds(entry) }));
}

/** A move by hand commits once; more of them in a row are somebody's balancing. */
const startsMax = 10;

/** How a start time and the catalog are taken. */
interface Takes {
  time(): Promise<bigint>;
  catalog(): Promise<Catalog>;
}

/**
 * Takes a start time, and the catalog after it. No balancer shows all moves by hand. A chunk that has moved in between
 * has its new owner in the catalog, and a read at the start time may lack its documents there: both are taken anew.
 * @throws ConvoyError `balancerStillRunning` if chunks keep moving
 */
export async function takeStart(takes: Takes): Promise<{ startTime: bigint; catalog: Catalog }> {
  for (let left = startsMax; ; left -= 1) {
    const startTime = await takes.time();
    const catalog = await takes.catalog();
    const moved = catalog.find((entry) => hasMovedAfter(entry, startTime));
    if (moved === undefined) return { startTime, catalog };
    if (left <= 1) {
      const description = `Chunks of ${shownName(moved)} moved whenever the migration took its start time.`;
      throw new ConvoyError('balancerStillRunning', `${description} Stop what moves them, and start again.`);
    }
  }
}

/** Chunks that were never moved have the first major version, and are owned since their collection was sharded. */
function hasMovedAfter({ sharding }: CatalogEntry, time: bigint): boolean {
  return (sharding?.chunks ?? []).some(
    ({ version, ownedSince }) =>
      version !== undefined && version.t > 1 && ownedSince !== undefined && timeOf(ownedSince) > time,
  );
}

/** A former leader that still runs stops at the first conflict. */
const clearingsMax = 5;

/** Errors that mean that something else than planned exists on the destination. */
const inTheWay: readonly string[] = [
  'destinationNotEmpty',
  'catalogDiffers',
  'indexNotSupported',
  'destinationChanged',
];

/**
 * Creates everything planned on the destination for the first time. The source may have changed since an earlier leader
 * began. So it drops empty collections that the earlier leader created in another form.
 * @param catalog that was planned
 * @throws as `createCollections`; `staleEpoch` when another leader has taken over
 */
export async function makeCollections(
  deps: LeaderDependencies,
  catalog: Catalog,
  plan: DestinationPlan,
  signal: AbortSignal,
  onWarning?: (warning: Warning) => void,
): Promise<CreatedCollection[]> {
  const { runtime, destination, builds, leaderEpoch } = deps;
  const onProgress = deps.onIndexProgress.bind(deps);
  const confirm = () => deps.records.confirmLeader(leaderEpoch, signal);
  const making = { destination, signal, confirm, onWarning, skip: skipping(deps), builds };
  for (let clearings = 0; ; clearings += 1) {
    await confirm();
    try {
      return await runtime.retrying('make collections', () => createCollections(making, plan, onProgress), signal);
    } catch (error) {
      const isLeft =
        hasPredecessor(deps.watch.view.record, leaderEpoch) &&
        error instanceof ConvoyError &&
        inTheWay.includes(error.error);
      if (!isLeft || clearings === clearingsMax) throw error;
      await runtime.retrying(
        'drop collections of an earlier leader',
        () => clearLeavings(deps, catalog, signal),
        signal,
      );
    }
  }
}

async function clearLeavings(deps: LeaderDependencies, catalog: Catalog, signal: AbortSignal): Promise<void> {
  const { destination, records, leaderEpoch } = deps;
  const found = await readDestinationCatalog(deps, signal);
  const differences = compareCatalogs(catalog, found, comparisonOf(deps, 'temporary'));
  const unlike = new Set(differences.filter(({ kind }) => kind !== 'extra').map(({ namespace }) => namespace));
  const confirm = (each: AbortSignal) => records.confirmLeader(leaderEpoch, each);
  for (const entry of found) {
    if (
      !unlike.has(shownName(entry)) ||
      (entry.type === 'collection' && (await hasAnyDocument(destination.router, entry, signal)))
    )
      continue;
    await drop({ destination, confirm }, entry, signal);
  }
}

/**
 * The leader's first work after the swap: it resets all tasks, blocks user writes on the former source, and stops both
 * balancers. On the former source it then creates the fence and defers index attributes. A later leader may repeat
 * every step.
 */
export async function beginReverse(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { runtime, destination, records, taskRecords, watch, builds, leaderEpoch } = deps;
  await taskRecords.resetAfterSwap(swapsOf(watch.view.record), signal);
  stepDone('tasksRestarted');
  await applyWriteBlock(deps, 'destination', signal);
  stepDone('formerSourceBlocked');
  await stopBalancers(deps, signal);
  stepDone('reverseBalancersStopped');
  await makeFence(deps, signal);
  stepDone('reverseFenceMade');
  const plan = planOf(deps, await readStartCatalog(deps, signal));
  const confirm = () => records.confirmLeader(leaderEpoch, signal);
  const making = { destination, signal, confirm, builds };
  await runtime.retrying('defer attributes', () => deferAttributes(making, plan), signal);
  stepDone('attributesDeferred');
  await records.updateAsLeader(leaderEpoch, { phase: 'syncing', inventoryLook: 'pending' }, signal);
  stepDone('reverseSyncStarted');
  runtime.logger.info({ event: 'reversed' }, 'the fleet follows the former destination');
}
