import type { Document } from 'mongodb';
import type { NodeClient } from '../../cluster/node-client.js';
import { startingPoints } from '../../copy/starting-points.js';
import { PartitionTable, type SavePartitions } from '../../store/partition-table.js';
import type { Runtime } from '../migration/runtime.js';
import type { TaskCollection } from './task-collections.js';

/** The partitions of a collection whose copy begins: one for each reader that starts on it at once. */
export async function freshTable(
  task: TaskCollection,
  client: NodeClient,
  runtime: Runtime,
  save: SavePartitions,
  signal: AbortSignal,
): Promise<PartitionTable> {
  const { collection, range, sizeBytes, seenPerOwned } = task;
  const { readers } = runtime.config;
  const sample = () =>
    startingPoints(client, collection, { sizeBytes, seenPerOwned, range, startsMax: readers }, signal);
  const starts = await runtime.retrying('sample _ids', sample, signal);
  return PartitionTable.fresh(collection, starts, save, range);
}

/** The partitions of a collection that needs no copy: the destination has its content at a known time. */
export function copiedTable(
  { collection, range }: TaskCollection,
  readTime: bigint,
  save: SavePartitions,
): PartitionTable {
  return PartitionTable.copied(collection, readTime, save, range);
}

/** The partitions of a collection, as an earlier owner has stored them. */
export function storedTable(
  { collection }: TaskCollection,
  stored: readonly Document[],
  save: SavePartitions,
): PartitionTable {
  return PartitionTable.restored(collection, stored, save);
}
