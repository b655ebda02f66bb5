import type { BuildUnderWay } from '../../catalog/make/builds-under-way.js';
import { nameSome } from '../../catalog/name-some.js';
import type { Catalog } from '../../catalog/namespace.js';
import { membersAway } from '../../cluster/topology.js';
import { runTogether, type Task } from '../../async/together.js';
import type { LeaderDependencies } from '../migration/migration-dependencies.js';
import { awaitsIndexes } from '../migration/index-scope.js';
import { buildsWarning, hasWarning, recordWarning } from '../migration/recorded-warnings.js';

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

/** Does the leader's work. Meanwhile a warning names the index builds that last, whatever the phase is. */
export async function warningOfBuilds(deps: LeaderDependencies, work: Task, signal: AbortSignal): Promise<void> {
  const done = new AbortController();
  await runTogether(signal, [
    async (each) => {
      await work(each).finally(() => done.abort());
    },
    async (each) => {
      const over = AbortSignal.any([each, done.signal]);
      await keepWarning(deps, over).catch((error: unknown) => {
        if (!over.aborted) throw error;
      });
    },
  ]);
  if (hasWarning(deps.watch.view.record, buildsWarning)) await recordWarning(deps, buildsWarning, null, signal);
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
    await builds.untilAny(signal);
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
    indexes.map((index) => `${index} of ${database}.${name}`),
  );
  return `${nameSome(named)}.${away.length === 0 ? '' : ` Members do not answer: ${away.join(', ')}.`}`;
}

const quorum = 'A build ends once a majority of the voting members has it; one that began before may need all of them.';
