import type { MongoClient } from 'mongodb';
import type { Fleet } from '../environment/fleet/start-fleet.js';
import type { Migration } from './migration.js';
import { demoLimits_ms } from './migration.js';
import { Stopwatch } from './stopwatch.js';
import { Workload, type WorkloadCounts, type WorkloadOptions } from './workload.js';

/** How long users write to the new cluster before the way back begins. */
const writesBefore_ms = 3_000;

/** Measurements of the way back. */
export interface ReverseStats {
  /** From the command until a commit is possible. */
  replay_seconds: number;
  /** From the last write on the new cluster until the old one accepts writes. */
  cutOver_seconds: number;
  workload: WorkloadCounts | undefined;
}

/**
 * Swaps the clusters of a committed migration and commits again, while users write to the new cluster.
 * @param users a client of the new cluster as a user, whose writes Convoy may block
 * @param workload of these users; null without
 */
export async function reverseMigration(
  migration: Migration,
  { coordinator: { client } }: Pick<Fleet, 'coordinator'>,
  users: MongoClient,
  workload: Omit<WorkloadOptions, 'client'> | null,
): Promise<ReverseStats> {
  const watch = new Stopwatch();
  const writing = workload === null ? undefined : Workload.start({ ...workload, client: users });
  try {
    if (writing) await writing.goOn(writesBefore_ms);
    await watch.time('replay', async () => {
      await client.reverse();
      await migration.follow('the changes are replayed', demoLimits_ms.catchUp, ({ canCommit }) => canCommit);
    });
    const counts = await writing?.stop();
    await watch.time('cut-over', async () => {
      await client.commit();
      await migration.follow(
        'the former source accepts writes',
        demoLimits_ms.commit,
        ({ canWrite }) => canWrite === true,
      );
    });
    await migration.follow('the reverse is committed', demoLimits_ms.commit, ({ state }) => state === 'COMMITTED');
    return { replay_seconds: watch.of('replay'), cutOver_seconds: watch.of('cut-over'), workload: counts };
  } finally {
    await writing?.stop().catch(() => undefined);
  }
}
