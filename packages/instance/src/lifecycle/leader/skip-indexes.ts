import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { SkipIndex } from '../../catalog/make/index-building.js';
import { isIdIndex, portableIndex } from '../../catalog/index-spec.js';
import { type Catalog, namespaceOf } from '../../catalog/namespace.js';
import type { DestinationPlan } from '../../catalog/plan/destination-plan.js';
import { neededIndex } from '../../catalog/plan/index-plan.js';
import { type SkippedIndex, skippedIndexOf, skipOf } from '../../catalog/plan/skipped-index.js';
import type { UniqueIndexViolated } from '../../catalog/unique-violation.js';
import type { LeaderDependencies } from '../migration/migration-dependencies.js';

/** Skipped indexes that the migration's one record holds: more show a destination that cannot be what is wanted. */
const skippedMax = 1_000;

/** How the leader skips an index that the destination cannot build; undefined unless the user has chosen so. */
export function skipping(deps: LeaderDependencies): SkipIndex | undefined {
  if (deps.watch.view.record.options.indexFailures !== 'skip') return undefined;
  return (skipped, signal) => skipIndex(deps, skipped, signal);
}

async function skipIndex(
  { records, watch, runtime, leaderEpoch }: LeaderDependencies,
  skipped: SkippedIndex,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, index, failure, outcome, unique } = skipped;
  if ((watch.view.record.skippedIndexes?.length ?? 0) >= skippedMax)
    throw new ConvoyError(
      'indexNotSupported',
      `The destination cannot build ${index} of ${namespace} (${failure}), and ${skippedMax} indexes are skipped.`,
    );
  await records.noteSkipped(leaderEpoch, '$addToSet', skipped, signal);
  await watch.refresh(signal);
  runtime.logger.warn(
    { event: 'indexSkipped', namespace, index, failure, outcome, unique },
    'the destination cannot build an index: it is skipped',
  );
}

/**
 * Forgets skipped indexes that the source no longer has in this form: one that comes back is tried anew.
 * @param catalog the source's as it is now
 */
export async function forgetSkipped(
  { records, watch, leaderEpoch }: LeaderDependencies,
  catalog: Catalog,
  signal: AbortSignal,
): Promise<void> {
  const { skippedIndexes } = watch.view.record;
  if (skippedIndexes === undefined || skippedIndexes.length === 0) return;
  const there = new Set(
    catalog.flatMap((entry) =>
      entry.indexes
        .filter((index) => !isIdIndex(index))
        .map((index) => skipOf(skippedIndexes, entry.uuid, portableIndex(namespaceOf(entry), index).index)),
    ),
  );
  const gone = skippedIndexes.filter((one) => !there.has(one));
  for (const one of gone) await records.noteSkipped(leaderEpoch, '$pull', one, signal);
  if (gone.length > 0) await watch.refresh(signal);
}

/**
 * Leaves indexes that documents violate as they are, if the user has chosen so. One that a shard key needs stays
 * violated.
 * @param plan in which they were to become unique
 * @returns whether there was any
 */
export async function leaveViolated(
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
      .filter((one) => one !== needed && names.has(JSON.stringify([namespaceOf(collection.entry), one.final.name])))
      .map(({ final }) => ({ collection, final }));
  });
  for (const { collection, final } of left) {
    const place = { uuid: collection.entry.uuid, namespace: namespaceOf(collection.sourceNamespace) };
    await skip(skippedIndexOf(place, final, 'notUnique', error.cause), signal);
  }
  return left.length > 0;
}
