import { isConvoyError } from '@convoy/api/errors/convoy-error';
import { type CollectionPlan, planCollection, type PlanRules } from '../catalog/destination-plan.js';
import { hasAnyDocument } from '../catalog/list-namespaces.js';
import { mapBounded } from '../async/together.js';
import type { MayPass } from '../catalog/build-indexes.js';
import { type IndexBuildProgress, IndexBuilds } from '../catalog/index-builds.js';
import type { Catalog, CatalogEntry } from '../catalog/namespace.js';
import { codeOf, isRefusedByDocument, serverErrorCode } from '../cluster/failure.js';
import type { DdlLedger } from './ddl-ledger.js';
import { drop, findByUuid, type LedDestination } from './destination-collections.js';
import { abandonBuilds, reconcileIndexes } from './reconcile-indexes.js';
import { reconcileOptions } from './reconcile-options.js';
import { reconcileViews } from './reconcile-views.js';

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
  const progress = new IndexBuilds(
    pairs.map(({ plan }) => plan),
    deps.onIndexProgress,
  );
  const passing: unknown[] = [];
  await mapBounded(pairs, collectionsParallel, async ({ entry, there, plan }) => {
    await abandonBuilds(deps, plan, there, signal);
    await reconcileOptions(deps, entry, there, signal);
    try {
      await reconcileIndexes(deps, plan, there, signal);
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
