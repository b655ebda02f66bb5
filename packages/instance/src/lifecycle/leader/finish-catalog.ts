import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { storedValue } from '../../bson/sent-value.js';
import { storedEntry } from '../../catalog/catalog-bytes.js';
import { type CatalogDifference, compareCatalogs } from '../../catalog/compare-catalogs.js';
import type { DestinationPlan } from '../../catalog/destination-plan.js';
import { restoreAttributes, UniqueIndexViolated } from '../../catalog/index-attributes.js';
import { neededIndex, skippedIndexOf } from '../../catalog/index-plan.js';
import type { Catalog } from '../../catalog/namespace.js';
import { shownName } from '../../cluster/time-series.js';
import { storeEntries } from '../../store/task-storage.js';
import { comparisonOf, planOf, readDestinationCatalog } from '../migration/migration-catalogs.js';
import {
  type LeaderDependencies,
  type MigrationDependencies,
  recordWarning,
  remapOf,
} from '../migration/migration-dependencies.js';
import { heldWarning, isHeld } from '../../store/migration-view.js';
import { noteDifferences, sourceNameOf } from '../migration/mismatches.js';
import { stepDone } from '../migration/steps.js';
import { skipping } from './builds.js';

/** Restores the deferred attributes, and compares the definitions in their final form. */
export async function finishCatalog(deps: LeaderDependencies, catalog: Catalog, signal: AbortSignal): Promise<void> {
  const { records, metadata, watch, leaderEpoch } = deps;
  await holdWhileViolated(deps, () => restore(deps, catalog, signal), signal);
  stepDone('attributesRestored');
  const found = await readDestinationCatalog(deps, signal);
  const differences = compareCatalogs(catalog, found, comparisonOf(deps, 'final'));
  await noteDifferences(deps, differences, signal);
  refuseDifferences(differences);
  if (!watch.view.record.reversal) return;
  await storeEntries(metadata, leaderEpoch, found.map(storedEntry), signal, 'openedCollections');
  await records.noteOpening(leaderEpoch, { openedCatalogEpoch: leaderEpoch }, signal);
}

/** Indexes that documents violate stay plain, if the user has chosen so. */
async function restore(deps: LeaderDependencies, catalog: Catalog, signal: AbortSignal): Promise<void> {
  const { runtime, destination, records, builds, leaderEpoch } = deps;
  const confirm = () => records.confirmLeader(leaderEpoch, signal);
  for (;;) {
    const plan = planOf(deps, catalog);
    const making = { destination, signal, confirm, builds };
    try {
      await runtime.retrying('restore attributes', () => restoreAttributes(making, plan), signal);
      return;
    } catch (error) {
      const isLeft = error instanceof UniqueIndexViolated && (await leaveViolated(deps, plan, error, signal));
      if (!isLeft) throw error;
    }
  }
}

/**
 * Leaves indexes that documents violate as they are, if the user has chosen so. One that a shard key needs stays
 * violated.
 * @param plan in which they were to become unique
 * @returns whether there was any
 */
async function leaveViolated(
  deps: LeaderDependencies,
  plan: DestinationPlan,
  error: UniqueIndexViolated,
  signal: AbortSignal,
): Promise<boolean> {
  const skip = skipping(deps);
  if (skip === undefined) return false;
  const names = new Set(error.violations.map(({ namespace, index }) => JSON.stringify([namespace, index])));
  const left = plan.collections.flatMap((collection) => {
    const needed = neededIndex(collection, collection.sharding);
    return collection.indexes
      .filter((one) => one !== needed && names.has(JSON.stringify([shownName(collection.entry), one.final.name])))
      .map(({ final }) => ({ collection, final }));
  });
  for (const { collection, final } of left) {
    const place = { uuid: collection.entry.uuid, namespace: shownName(collection.sourceNamespace) };
    await skip(skippedIndexOf(place, final, 'notUnique', error.cause), signal);
  }
  return left.length > 0;
}

const differencesNamedMax = 5;

/** @throws ConvoyError `catalogDiffers`, which names some of the differences */
export function refuseDifferences(differences: readonly CatalogDifference[]): void {
  if (differences.length === 0) return;
  const named = differences
    .slice(0, differencesNamedMax)
    .map(({ kind, namespace, detail }) => `${kind} ${namespace} (${detail})`);
  throw new ConvoyError(
    'catalogDiffers',
    `Source and destination differ in ${differences.length} definitions: ${named.join('; ')}.`,
  );
}

/**
 * Interval between attempts to make indexes unique: before 6.0 each attempt builds the index again, up to the first
 * duplicate.
 */
const again_ms = 5_000;
const minute_ms = 60_000;

/**
 * Restores attributes. Documents on the destination with the same key of a unique index hold the commit. A warning and
 * the list of mismatches name them, and the commit continues once they are gone.
 * @param restore can be called repeatedly
 * @throws UniqueIndexViolated when they are still there after `retry_minutes`
 */
export async function holdWhileViolated(
  deps: LeaderDependencies,
  restore: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const violated = await violatedBy(restore);
  if (violated !== null) await hold(deps, violated, restore, signal);
  // An earlier leader may have recorded the warning.
  if (isHeld(deps.watch.view.record)) await report(deps, null, signal);
}

async function hold(
  deps: LeaderDependencies,
  first: UniqueIndexViolated,
  restore: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, config, logger } = deps.runtime;
  const heldFrom = new Date(clock.now_ms());
  const end_ms = clock.monotonic_ms() + config.retry_minutes * minute_ms;
  logger.warn(
    { event: 'commitHeld', description: first.errorDescription },
    'the commit waits until documents with the same unique key are removed',
  );
  let violated: UniqueIndexViolated | null = first;
  for (let looks = 1; violated !== null; looks += 1) {
    await list(deps, violated, { heldFrom, looks }, signal);
    if (clock.monotonic_ms() >= end_ms) throw violated;
    await report(deps, violated, signal);
    await clock.sleep(again_ms, signal);
    violated = await violatedBy(restore);
  }
}

/** @returns null when no index is violated */
async function violatedBy(restore: () => Promise<void>): Promise<UniqueIndexViolated | null> {
  try {
    await restore();
    return null;
  } catch (error) {
    if (error instanceof UniqueIndexViolated) return error;
    throw error;
  }
}

/** @param error null when nothing holds the commit any more */
async function report(deps: LeaderDependencies, error: UniqueIndexViolated | null, signal: AbortSignal): Promise<void> {
  const description =
    `The commit waits: ${error?.errorDescription ?? ''} Remove those that the source does not have; ` +
    'GET /api/v1/verification/mismatches names them. The commit then continues by itself.';
  if (error === null) await deps.metadata.deleteMany('mismatches', { kind: 'duplicate' }, signal);
  await recordWarning(deps, heldWarning, error === null ? null : description, signal);
}

/**
 * Replaces the listed violations with the present ones. A concurrent reader always finds at least those that still
 * exist.
 */
async function list(
  { metadata, runtime, watch }: MigrationDependencies,
  { violations }: UniqueIndexViolated,
  { heldFrom, looks }: { heldFrom: Date; looks: number },
  signal: AbortSignal,
): Promise<void> {
  const seen = { kind: 'duplicate', firstSeen: heldFrom, lastSeen: new Date(runtime.clock.now_ms()), looks };
  const remap = remapOf(watch.view.record);
  const documents = violations.flatMap(({ namespace, index, ids }) =>
    ids.map((id, nth) => ({
      _id: `duplicate/${namespace}/${index}/${nth}`,
      ...sourceNameOf(remap, namespace),
      id: storedValue(id),
      detail: `shares a key of the unique index ${index}`,
      ...seen,
    })),
  );
  await metadata.upsertMany('mismatches', documents, signal);
  await metadata.deleteMany('mismatches', { kind: 'duplicate', lastSeen: { $ne: seen.lastSeen } }, signal);
}
