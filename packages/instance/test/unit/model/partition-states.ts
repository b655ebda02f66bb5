import type { Partition, PartitionState } from '../../../src/store/partition.js';

/** Brings a waiting partition to a state, by the transitions of a copy. */
export function bringTo(
  partition: Partition,
  state: PartitionState,
  readTime = 0n,
  readEnd: bigint | null = null,
): void {
  if (state === 'waiting') return;
  partition.start(readTime);
  if (state === 'starting') return;
  partition.startCopying();
  if (state === 'copying') return;
  partition.endReading(readEnd ?? readTime);
  partition.close();
  partition.finish();
}
