import { allTasks } from '../migration/migration-watch.js';
import { awaitsIndexes } from '../migration/index-scope.js';
import type { LeaderDependencies } from '../migration/migration-dependencies.js';
import { stepDone } from '../migration/steps.js';
import type { DdlLeader } from './ddl-leader.js';

/** Minimum pause before the indexes are compared again: definitions have changed, or an index waits for documents. */
const buildAgain_ms = 500;

/**
 * Builds the indexes that `buildIndexes` defers, once every task has copied everything. The tasks apply changes
 * meanwhile, and no commit is offered. A later leader repeats it: what exists stays.
 * @throws as `DdlLeader.compare`; `staleEpoch` when another leader has taken over
 */
export async function buildDeferredIndexes(
  deps: LeaderDependencies,
  ddlChanges: DdlLeader,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, watch, records, fleet, leaderEpoch } = deps;
  if (!awaitsIndexes(watch.view.record)) return;
  await watch.until((view) => allTasks(view, ({ copyDone }) => copyDone), signal);
  await records.updateAsLeader(leaderEpoch, { indexBuilds: 'running' }, signal);
  await watch.refresh(signal);
  stepDone('indexBuildsStarted');
  runtime.logger.info({ event: 'indexBuildsStarted' }, 'everything is copied: the leader builds the indexes');
  for (;;) {
    const began_ms = runtime.clock.monotonic_ms();
    if (await ddlChanges.compare(signal, deps.onIndexProgress.bind(deps))) break;
    // A refused build has read its collection: comparing may take at most half of the time.
    await runtime.clock.sleep(Math.max(buildAgain_ms, runtime.clock.monotonic_ms() - began_ms), signal);
  }
  await records.updateAsLeader(leaderEpoch, { indexBuilds: 'done' }, signal);
  await watch.refresh(signal);
  fleet.wake();
  stepDone('indexesBuilt');
  runtime.logger.info({ event: 'indexesBuilt' }, 'the indexes are built');
}
