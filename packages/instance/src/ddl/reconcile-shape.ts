import { isConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { mapBounded } from '../async/together.js';
import type { IndexBuilding, MayPass } from '../catalog/build-indexes.js';
import { optionDifferences, portableOptions } from '../catalog/collection-options.js';
import { createCollection } from '../catalog/create-collections.js';
import { type CollectionPlan, planCollection, type PlanRules } from '../catalog/destination-plan.js';
import { betweenBuilds, BuildCounts, type IndexBuildProgress } from '../catalog/index-builds.js';
import { hasAnyDocument, listCollections } from '../catalog/list-namespaces.js';
import { type Catalog, type CatalogEntry, namespaceOf } from '../catalog/namespace.js';
import { abandonBuilds, reconcileIndexes } from '../catalog/reconcile-indexes.js';
import { seriesChange } from '../catalog/time-series.js';
import { namingRefused } from '../catalog/views.js';
import { codeOf, isRefusedByDocument, serverErrorCode } from '../cluster/failure.js';
import { shownName, userName } from '../cluster/time-series.js';
import type { DdlLedger } from './ddl-ledger.js';
import { drop, findByUuid, type LedDestination, meaning } from './destination-collections.js';

/** Collections reconciled concurrently: most need nothing, and an index build loads the destination. */
const collectionsParallel = 4;

/** Dependencies of reconciling the destination's definitions. */
export interface ShapeDependencies extends LedDestination, PlanRules {
  destination: LedDestination['destination'];
  /** Called at the beginning and after every collection, while indexes are built that wait for the copy's end. */
  onIndexProgress?: ((progress: IndexBuildProgress) => void) | undefined;
  /** For builds that outdated documents refuse. */
  mayPass?: MayPass | undefined;
  /** A collection about which it has a pending entry is skipped. */
  ledger: Pick<DdlLedger, 'isChanging' | 'followed'>;
  /** Runs work while no entry of the journal is being applied. */
  exclusively(work: () => Promise<void>): Promise<void>;
}

/**
 * Brings indexes, options and views of the destination to the source's, in their form before the commit. It compares
 * states, so callers may repeat it at any time.
 * @param source as just read, with requested shard keys
 * @param found the destination's catalog with the same filter of the source's namespaces
 * @throws what the clients throw; `indexNotSupported` if the destination refuses an index. Once
 * all others are in line, the error of a build or drop that may succeed later (`isRefusedByDocument`, `isKeptForKey`)
 */
export async function reconcileShape(
  deps: ShapeDependencies,
  source: Catalog,
  found: Catalog,
  signal: AbortSignal,
): Promise<void> {
  const planned = (entry: CatalogEntry) => planCollection(entry, deps).plan;
  const present = new Map(found.map((entry) => [entry.uuid, entry]));
  // Only until the journal is applied, a collection may still have its former name there.
  const underNameOf = (plan: CollectionPlan, { database, name }: CatalogEntry): CollectionPlan => ({
    ...plan,
    entry: { ...plan.entry, database, name },
  });
  const pairs = source.flatMap((entry) => {
    const uuid =
      entry.type === 'view' || deps.ledger.isChanging(entry.uuid) ? null : deps.pairs.destinationOf(entry.uuid);
    const there = uuid === null ? undefined : present.get(uuid);
    if (there === undefined) return [];
    return [{ entry, there, plan: underNameOf(planned(entry), there) }];
  });
  const progress = new BuildCounts(
    pairs.map(({ plan }) => plan),
    deps.onIndexProgress,
  );
  const passing: unknown[] = [];
  await mapBounded(pairs, collectionsParallel, async ({ entry, there, plan }) => {
    const building = buildingOn(deps, there, signal);
    await abandonBuilds(building, plan, there);
    await reconcileOptions(deps, entry, there, signal);
    try {
      await reconcileIndexes(building, deps.destination.version, plan, there);
      progress.finish(plan);
    } catch (error) {
      if (!isRefusedByDocument(error) && !isKeptForKey(error)) throw error;
      passing.push(error);
    }
  });
  await reconcileViews(deps, source.filter(({ type }) => type === 'view').map(planned), found, signal);
  await dropStrays(deps, found, signal);
  if (passing.length > 0) throw passing[0];
}

function buildingOn(deps: ShapeDependencies, there: CatalogEntry, signal: AbortSignal): IndexBuilding {
  const { destination, skip, builds, mayPass } = deps;
  const confirm = (): Promise<void> => deps.confirm(signal);
  return { client: destination.router, signal, confirm, meaning: meaning(deps, there), skip, builds, mayPass };
}

/** From 6.0 on, servers keep the last index of a shard key: until the key changes, or another index supports it. */
function isKeptForKey(error: unknown): boolean {
  return codeOf(error) === serverErrorCode.cannotDropShardKeyIndex;
}

/**
 * A late index build creates an empty collection under a name that was dropped or renamed in the meantime. Nothing else
 * creates collections here that correspond to no source collection.
 */
async function dropStrays(deps: ShapeDependencies, found: Catalog, signal: AbortSignal): Promise<void> {
  for (const { database, name, type, uuid } of found) {
    if (type === 'view' || deps.pairs.isRecorded(uuid)) continue;
    const source = deps.remap.toSource({ database, name });
    if (source === null || deps.ledger.followed.at(source.database, source.name) !== undefined) continue;
    await deps.exclusively(() => dropStray(deps, database, uuid, name, signal));
  }
}

async function dropStray(
  deps: ShapeDependencies,
  database: string,
  uuid: string,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  if (deps.pairs.isRecorded(uuid)) return;
  const listed = await findByUuid(deps, database, uuid, signal);
  if (listed?.name !== name) return;
  if (!(await hasAnyDocument(deps.destination.router, listed, signal))) await drop(deps, listed, signal);
}

/**
 * Builds an index only if no index has its name. An index that has it anyway was created after the destination was
 * read.
 */
export function isReplacedIndex(error: unknown): boolean {
  return isConvoyError(error, 'catalogDiffers');
}

/** The first release whose `collMod` changes capped sizes and pre- and post-images. */
const changesSizesRelease = 6;

/**
 * Brings the options of a destination collection to the source's, as far as `collMod` can. What it cannot change (a
 * capped size before 6.0) stays; the comparison at the commit reports it.
 */
export async function reconcileOptions(
  { destination, confirm, builds }: Pick<LedDestination, 'destination' | 'confirm' | 'builds'>,
  source: CatalogEntry,
  found: CatalogEntry,
  signal: AbortSignal,
): Promise<void> {
  const differing = new Set(optionDifferences(source, found, 'temporary'));
  const changes = optionChanges(
    portableOptions(source).options,
    differing,
    destination.version[0] >= changesSizesRelease,
  );
  if (Object.keys(changes).length === 0) return;
  const command = {
    collMod: userName(found.name),
    ...changes,
    ...meaning({ destination }, found),
    writeConcern: { w: 'majority' },
  };
  const { router: client } = destination;
  await betweenBuilds({ client, signal, builds }, found, async () => {
    await confirm(signal);
    await client.command(found.database, command, { signal });
  });
}

/** The fields of `collMod` that change some options; an option that the source no longer has gets its default. */
function optionChanges(options: Document, differing: ReadonlySet<string>, changesSizes: boolean): Document {
  const changes: Document = {};
  if (differing.has('validator')) changes.validator = (options.validator as Document | undefined) ?? {};
  if (differing.has('validationLevel'))
    changes.validationLevel = (options.validationLevel as string | undefined) ?? 'strict';
  if (differing.has('validationAction'))
    changes.validationAction = (options.validationAction as string | undefined) ?? 'error';
  if (differing.has('timeseries')) changes.timeseries = seriesChange(options.timeseries as Document);
  if (!changesSizes) return changes;
  if (differing.has('changeStreamPreAndPostImages')) {
    changes.changeStreamPreAndPostImages = (options.changeStreamPreAndPostImages as Document | undefined) ?? {
      enabled: false,
    };
  }
  if (differing.has('size')) changes.cappedSize = options.size as unknown;
  // Zero means no limit.
  if (differing.has('max')) changes.cappedMax = (options.max as number | undefined) ?? 0;
  return changes;
}

type Changing = Pick<ShapeDependencies, 'destination' | 'confirm' | 'exclusively'>;

/**
 * Brings the views of the destination to the source's: creates, changes and drops them. Skips a name that a collection
 * still has: the journal handles it. Views on views need no order: servers allow a view on a missing namespace.
 */
export async function reconcileViews(
  deps: Changing,
  views: readonly CollectionPlan[],
  found: Catalog,
  signal: AbortSignal,
): Promise<void> {
  const wanted = new Map(views.map((plan) => [namespaceOf(plan.entry), plan]));
  const present = new Map(found.map((entry) => [shownName(entry), entry]));
  for (const [namespace, entry] of present) {
    if (entry.type === 'view' && !wanted.has(namespace))
      await unlessTaken(deps, entry, signal, () => drop(deps, entry, signal));
  }
  for (const [namespace, plan] of wanted) {
    const there = present.get(namespace);
    if (there === undefined) await unlessTaken(deps, plan.entry, signal, () => makeView(deps, plan, signal));
    else if (there.type === 'view' && optionDifferences(plan.entry, there, 'temporary').length > 0)
      await unlessTaken(deps, there, signal, () => changeView(deps, plan, there, signal));
  }
}

/**
 * Changes a view, unless a collection or time series has its name by now: since the catalogs were read, the journal may
 * have made one there, which a drop by name would take for the view.
 */
async function unlessTaken(
  deps: Changing,
  { database, name }: Pick<CatalogEntry, 'database' | 'name'>,
  signal: AbortSignal,
  change: () => Promise<void>,
): Promise<void> {
  await deps.exclusively(async () => {
    const [now] = await listCollections(deps.destination.router, database, signal, name);
    if (now === undefined || now.type === 'view') await change();
  });
}

async function changeView(
  deps: Changing,
  plan: CollectionPlan,
  there: CatalogEntry,
  signal: AbortSignal,
): Promise<void> {
  const view = plan.entry;
  const differing = optionDifferences(view, there, 'temporary');
  if (differing.every((option) => option === 'viewOn' || option === 'pipeline')) {
    const { viewOn, pipeline } = portableOptions(view).options;
    const command = {
      collMod: view.name,
      viewOn: viewOn as unknown,
      pipeline: pipeline as unknown,
      writeConcern: { w: 'majority' },
    };
    await deps.confirm(signal);
    await deps.destination.router.command(view.database, command, { signal }).catch((failure: unknown) => {
      throw namingRefused(view, failure);
    });
    return;
  }
  await drop(deps, there, signal);
  await makeView(deps, plan, signal);
}

async function makeView(deps: Changing, plan: CollectionPlan, signal: AbortSignal): Promise<void> {
  const making = { destination: deps.destination, signal, confirm: () => deps.confirm(signal) };
  await createCollection(making, plan);
}
