import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { shownName } from '../../cluster/time-series.js';
import type { Clock } from '../../async/clock.js';
import type { Retrying } from '../../async/retry.js';
import type { SkipIndex } from '../../catalog/build-indexes.js';
import type { BuildUnderWay } from '../../catalog/index-builds.js';
import { skipOf, type SkippedIndex } from '../../catalog/index-plan.js';
import { isIdIndex, portableIndex } from '../../catalog/index-spec.js';
import { nameSome } from '../../catalog/name-some.js';
import type { NamespaceFilter } from '../../catalog/namespace-filter.js';
import { type Catalog, namespaceOf } from '../../catalog/namespace.js';
import { runningBuilds } from '../../cluster/current-operations.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { membersAway } from '../../cluster/topology.js';
import { awaitsIndexes, type LeaderDependencies, recordWarning } from '../migration/migration-dependencies.js';
import { buildsWarning } from '../../store/migration-view.js';

/** Interval between looks at the builds. */
const look_ms = 500;
/** Most builds are done by then: a longer one is worth a warning, since a commit would wait for it. */
const quietFor_ms = 3_000;

/** The indexes that the source is still building. */
export function sourceBuilds(source: Catalog): BuildUnderWay[] {
  return source.flatMap(({ database, name, buildingIndexes = [] }) =>
    buildingIndexes.map((index) => ({ cluster: 'source', database, name, indexes: [index.name as string] })),
  );
}

/**
 * Waits during a commit while the source builds an index: it may fail, as over a duplicate, or be dropped. So it does
 * not count before it is finished, and would be missing on the destination if it were finished later.
 */
export async function untilSourceHasBuilt(
  { runtime, builds }: LeaderDependencies,
  source: { readSource(signal: AbortSignal): Promise<Catalog> },
  signal: AbortSignal,
): Promise<void> {
  runtime.logger.warn({ event: 'commitHeldByBuild' }, 'the commit waits until the source has built its indexes');
  while (builds.isSourceBuilding) {
    const began_ms = runtime.clock.monotonic_ms();
    await runtime.clock.sleep(look_ms, signal);
    await source.readSource(signal);
    // Large catalogs take long to read: reading may take at most half of the time.
    await runtime.clock.sleep(Math.max(0, runtime.clock.monotonic_ms() - began_ms - look_ms), signal);
  }
}

/**
 * Names the index builds that last in a warning, whatever the phase is, and takes it away in the end.
 * @param done aborted once the leader's work is done
 */
export async function keepBuildsWarning(deps: LeaderDependencies, done: AbortSignal, signal: AbortSignal) {
  const over = AbortSignal.any([signal, done]);
  await keepWarning(deps, over).catch((error: unknown) => {
    if (!over.aborted) throw error;
  });
  await recordWarning(deps, buildsWarning, null, signal);
}

async function keepWarning(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { runtime, watch, builds } = deps;
  for (;;) {
    const lasting = builds.lasting(quietFor_ms);
    const { warnings } = watch.view.record;
    const recorded = warnings.find(({ name }) => name === buildsWarning)?.description ?? null;
    const wanted = lasting.length === 0 ? null : await described(deps, lasting, signal);
    if (wanted !== recorded && (wanted !== null || builds.hasLooked))
      await recordWarning(deps, buildsWarning, wanted, signal);
    // A build may have ended while it was being named.
    if (wanted === null) await builds.untilAny(signal);
    await runtime.clock.sleep(look_ms, signal);
  }
}

/** @returns null while nothing is worth a warning */
async function described(
  deps: LeaderDependencies,
  lasting: readonly BuildUnderWay[],
  signal: AbortSignal,
): Promise<string | null> {
  const { watch } = deps;
  const [ofSource, ofDestination] = await Promise.all(
    (['source', 'destination'] as const).map(async (cluster) => {
      const builds = lasting.filter((build) => build.cluster === cluster);
      return { builds, away: builds.length === 0 ? [] : await membersAway(deps[cluster], { signal }) };
    }),
  );
  const texts: string[] = [];
  if (ofSource !== undefined && ofSource.builds.length > 0)
    texts.push(`The source is still building ${namesOf(ofSource)} To go on without an index, drop it there.`);
  // After the copy all indexes are built: progress shows how far they are.
  const isShownByProgress = awaitsIndexes(watch.view.record) && ofDestination?.away.length === 0;
  if (ofDestination !== undefined && ofDestination.builds.length > 0 && !isShownByProgress)
    texts.push(`The destination is still building ${namesOf(ofDestination)} ${quorum}`);
  return texts.length === 0
    ? null
    : [...texts, 'Until then no commit is offered, and one that has begun waits.'].join(' ');
}

/** Names the indexes of builds, and the members that do not answer. */
function namesOf({ builds, away }: { builds: readonly BuildUnderWay[]; away: readonly string[] }): string {
  const named = builds.flatMap(({ database, name, indexes }) =>
    indexes.map((index) => `${index} of ${shownName({ database, name })}`),
  );
  return `${nameSome(named)}.${away.length === 0 ? '' : ` Members do not answer: ${away.join(', ')}.`}`;
}

const quorum = 'A build ends once a majority of the voting members has it; one that began before may need all of them.';

/** Interval between looks: no commit is to be offered for long while the source builds an index. */
const sourceLook_ms = 2_000;

/**
 * Looks whether the source begins to build an index, or has ended to: no event shows it, nor before 6.0 the index, nor
 * on any release a build that fails. The comparison of the catalogs may be far away.
 * @param onChanged called once for each look that finds other builds of migrated collections than the one before
 */
export async function watchForBuilds(
  { runtime, source }: { runtime: { clock: Pick<Clock, 'sleep'>; retrying: Retrying }; source: ClusterClient },
  filter: NamespaceFilter,
  onChanged: () => void,
  signal: AbortSignal,
): Promise<void> {
  let known = new Set<string>();
  for (;;) {
    await runtime.clock.sleep(sourceLook_ms, signal);
    const found = await runtime.retrying('look for index builds', () => runningBuilds(source, { signal }), signal);
    const own = found.filter(({ database, collection }) => filter.includes(database, collection)).map(({ id }) => id);
    const now = new Set(own);
    if (now.size !== known.size || own.some((id) => !known.has(id))) onChanged();
    known = now;
  }
}

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
