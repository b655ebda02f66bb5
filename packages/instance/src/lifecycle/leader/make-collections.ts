import type { Warning } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { compareCatalogs } from '../../catalog/plan/compare-catalogs.js';
import type { CreatedCollection } from '../../catalog/make/create-collection.js';
import { createCollections } from '../../catalog/make/create-collections.js';
import type { DestinationPlan } from '../../catalog/plan/destination-plan.js';
import { holdsDocuments } from '../../catalog/read/holds-documents.js';
import { type Catalog, namespaceOf } from '../../catalog/namespace.js';
import { drop } from '../../ddl/destination-collections.js';
import { hasPredecessor } from '../../store/epochs.js';
import { comparisonOf, type LeaderDependencies, readDestinationCatalog } from '../migration/migration-dependencies.js';
import { skipping } from './skip-indexes.js';

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
      !unlike.has(namespaceOf(entry)) ||
      (entry.type === 'collection' && (await holdsDocuments(destination.router, entry, signal)))
    )
      continue;
    await drop({ destination, confirm }, entry, signal);
  }
}
