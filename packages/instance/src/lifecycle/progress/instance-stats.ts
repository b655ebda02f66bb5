import type { InstanceStats } from '@convoy/api/fleet/instance-stats';
import type { MigrationRun } from '../run/migration-run.js';
import { totalsOf } from '../stats/task-stats.js';

/** Bound of the shards that are named. */
const shardsNamedMax = 1_000;

/**
 * The stats of a process's part in a migration, for watchers.
 * @param namesShards whether they name the shards of the destination
 */
export function instanceStatsOf(
  { stats, deps, view }: MigrationRun,
  bufferBytesMax: number,
  namesShards: boolean,
): InstanceStats {
  const sum = (stat: (one: (typeof stats)[number]) => number): number =>
    stats.reduce((total, one) => total + stat(one), 0);
  return {
    sourceShards: deps.ownIds.slice(0, shardsNamedMax),
    destinationShards: namesShards ? deps.destination.shardIds.slice(0, shardsNamedMax) : [],
    copiedDocuments: totalsOf(stats, view, deps.ownIds).reduce((total, task) => total + task.copiedDocuments, 0),
    partitions: {
      waiting: sum(({ partitions }) => partitions.waiting),
      starting: sum(({ partitions }) => partitions.starting),
      copying: sum(({ partitions }) => partitions.copying),
      done: sum(({ partitions }) => partitions.done),
    },
    bufferedEvents: sum((one) => one.bufferedEvents),
    pendingRereads: sum((one) => one.pendingRereads),
    bufferedBytes: sum((one) => one.bufferedBytes),
    bufferBytesMax,
  };
}
