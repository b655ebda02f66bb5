import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { storedEntry } from '../../catalog/catalog-bytes.js';
import { type CatalogDifference, compareCatalogs } from '../../catalog/compare-catalogs.js';
import type { Catalog } from '../../catalog/namespace.js';
import { secondsOf, timeOf, timestampOf } from '../../cluster/cluster-time.js';
import { refuseFunctionChanges } from '../../ddl/judge-catalog.js';
import type { CommitRound, MigrationRecord } from '../../store/migration-record.js';
import { storeEntries } from '../../store/task-storage.js';
import { comparisonOf, readDestinationCatalog } from '../migration/migration-catalogs.js';
import {
  type LeaderDependencies,
  type MigrationDependencies,
  remapOf,
  sourceTimeAboveAll,
  wakeSource,
} from '../migration/migration-dependencies.js';
import { allTasks, type MigrationView } from '../../store/migration-view.js';
import { untilOrFor } from '../../store/migration-watch.js';
import { noteDifferences } from '../migration/mismatches.js';
import { stepDone } from '../migration/steps.js';
import { keptClosed } from '../migration/write-blocks.js';
import { untilSourceHasBuilt } from './builds.js';
import type { DdlLeader } from './ddl-leader.js';
import { refuseDifferences } from './finish-catalog.js';
import { lateWrites, totalOf, untilTransactionsEnd } from './late-writes.js';

/** Rounds before the leader gives up on writers that do not stop. */
const roundsMax = 5;
/**
 * A commit time that is undrained for this long is replaced by a later one. Servers read at a time of the last five
 * minutes only (minSnapshotHistoryWindowInSeconds), and a task that was away may have pending re-reads.
 */
const roundAgeMax_ms = 120_000;
/** The leader writes a note on idle shards this often while their streams have to pass the commit time. */
const poke_ms = 500;
/** Time for writers to stop before the leader takes the next commit time. */
const roundPause_ms = 500;

/**
 * Takes a commit time and waits until all tasks drain past it. Repeats this while the source shows later writes or DDL
 * changes, when its block of user writes is gone, and when the time becomes too old for a task that was away. Takes no
 * time while an earlier transaction has not ended on every shard. Once sealed, the commit time stays, with its catalog.
 * @throws ConvoyError `transactionsNotEnded`, `catalogDiffers` when definitions cannot be aligned,
 *   `commitRoundsExceeded`
 */
export async function drainRounds(deps: LeaderDependencies, ddlChanges: DdlLeader, signal: AbortSignal): Promise<void> {
  const { runtime, watch } = deps;
  let last = watch.view.record.commit?.round ?? 0;
  let started = await startedRound(deps, signal);
  let differences: CatalogDifference[] = [];
  for (let drainedRounds = 0; drainedRounds < roundsMax; started = null) {
    if (drainedRounds > 0) await runtime.clock.sleep(roundPause_ms, signal);
    const { round, time } = started ?? (await beginRound(deps, ddlChanges, last + 1, signal));
    last = round;
    const above = timeOf(time);
    const [isDrained] = await Promise.all([drained(deps, round, signal), ddlChanges.untilApplied(above, signal)]);
    if (!isDrained) continue;
    stepDone('roundDrained');
    await ddlChanges.compare(signal);
    const [catalog, found] = await Promise.all([ddlChanges.readSource(signal), readDestinationCatalog(deps, signal)]);
    if (deps.builds.isSourceBuilding) {
      // It has no writers to blame: the round does not count.
      await untilSourceHasBuilt(deps, ddlChanges, signal);
      continue;
    }
    drainedRounds += 1;
    if (totalOf(lateWrites(watch.view, catalog)) > 0) continue;
    differences = compareCatalogs(catalog, found, comparisonOf(deps, 'temporary'));
    stepDone('definitionsCompared');
    if (differences.length > 0 || ddlChanges.changedAfter(above)) continue;
    await runtime.retrying(
      'compare functions',
      () => refuseFunctionChanges(deps.source, deps.destination, catalog, remapOf(watch.view.record), signal),
      signal,
    );
    if (!(await keptClosed(deps, signal))) continue;
    await seal(deps, { round, time, catalog }, signal);
    stepDone('commitSealed');
    return;
  }
  await noteDifferences(deps, differences, signal);
  refuseDifferences(differences);
  throw new ConvoyError(
    'commitRoundsExceeded',
    `The source received writes, or moved collections, in each of ${roundsMax} commit rounds. Stop its writers, and ` +
      'whoever moves collections, and commit a new migration.',
  );
}

/**
 * The round that an earlier leader has begun. It waited in the same way before taking the time, and tasks may have
 * drained it already. So leaders that replace each other still make progress.
 * @returns null when there is none, or when its time is too old
 */
async function startedRound(
  deps: MigrationDependencies,
  signal: AbortSignal,
): Promise<Pick<CommitRound, 'round' | 'time'> | null> {
  const { commit } = deps.watch.view.record;
  if (commit === null) return null;
  const age_seconds = secondsOf(await sourceTimeAboveAll(deps, signal)) - secondsOf(timeOf(commit.time));
  return age_seconds * 1_000 < roundAgeMax_ms ? commit : null;
}

async function beginRound(
  deps: LeaderDependencies,
  ddlChanges: DdlLeader,
  round: number,
  signal: AbortSignal,
): Promise<Pick<CommitRound, 'round' | 'time'>> {
  await untilTransactionsEnd(deps, signal);
  stepDone('transactionsEnded');
  ddlChanges.holdDdlWatermark();
  const time = timestampOf(await sourceTimeAboveAll(deps, signal));
  const commit = { round, time, sealed: false, catalogEpoch: null };
  await deps.records.updateAsLeader(deps.leaderEpoch, { phase: 'committing', commit }, signal);
  stepDone('commitTimeTaken');
  deps.fleet.wake();
  return commit;
}

async function seal(
  deps: LeaderDependencies,
  { round, time, catalog }: { round: number; time: ReturnType<typeof timestampOf>; catalog: Catalog },
  signal: AbortSignal,
): Promise<void> {
  const { metadata, records, watch, fleet, leaderEpoch } = deps;
  await storeEntries(metadata, leaderEpoch, catalog.map(storedEntry), signal, 'committedCollections');
  // A commit right after the copy may arrive before the last tasks have stored their totals.
  const total = finalTotal(watch.view);
  await records.updateAsLeader(
    leaderEpoch,
    { commit: { round, time, sealed: true, catalogEpoch: leaderEpoch }, ...total },
    signal,
  );
  fleet.wake();
}

/**
 * Waits until every task has drained the round. Notes on the source advance idle streams: those of the tasks, and the
 * DDL stream that the tasks wait for.
 * @returns false when the round became too old before
 */
async function drained(deps: MigrationDependencies, round: number, signal: AbortSignal): Promise<boolean> {
  const { watch, runtime } = deps;
  const started_ms = runtime.clock.monotonic_ms();
  const isDrained = () => allTasks(watch.view, (task) => task.drained?.round === round);
  while (!isDrained()) {
    if (runtime.clock.monotonic_ms() - started_ms >= roundAgeMax_ms) return false;
    await wakeSource(deps, signal);
    await untilOrFor(deps, isDrained, poke_ms, signal);
  }
  return true;
}

/**
 * The total once nothing more is copied: the sum of all copied bytes, so that a client that adds them up gets exactly
 * 100 %.
 */
export function finalTotal({ tasks }: MigrationView): Pick<MigrationRecord, 'estimatedTotalBytes'> {
  let total = 0;
  for (const { copied } of tasks.values()) total += copied.bytes;
  return { estimatedTotalBytes: Math.max(1, total) };
}
