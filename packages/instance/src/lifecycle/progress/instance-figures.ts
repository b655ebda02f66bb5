import type { InstanceFigures } from '@convoy/api/fleet/instance-figures';
import type { MigrationRun } from '../run/migration-run.js';

/** Shards named at most. */
const shardsNamedMax = 1_000;

/** The figures of a process's part in a migration, for those who watch. */
export function instanceFiguresOf({ figures, input, view }: MigrationRun, bufferBytesMax: number): InstanceFigures {
  const sum = (figure: (one: (typeof figures)[number]) => number): number => figures.reduce((total, one) => total + figure(one), 0);
  const own = input.ownIds.flatMap((id) => view.shares.get(id) ?? []);
  return {
    sourceShards: input.ownIds.slice(0, shardsNamedMax),
    destinationShards: input.destination.shardIds.slice(0, shardsNamedMax),
    copiedDocuments: figures.length > 0 ? sum((one) => one.copiedDocuments) : own.reduce((total, { copied }) => total + copied.documents, 0),
    partitions: {
      waiting: sum(({ partitions }) => partitions.waiting),
      starting: sum(({ partitions }) => partitions.starting),
      copying: sum(({ partitions }) => partitions.copying),
      done: sum(({ partitions }) => partitions.done),
    },
    heldEvents: sum((one) => one.heldEvents),
    doubtfulKeys: sum((one) => one.doubtfulKeys),
    bufferedBytes: sum((one) => one.bufferedBytes),
    bufferBytesMax,
  };
}
