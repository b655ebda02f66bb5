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
  const startsMax = collection.documentFilter === undefined ? runtime.config.readers : filteredStarts(task, runtime);
  const sample = () => startingPoints(client, collection, { sizeBytes, seenPerOwned, range, startsMax }, signal);
  const starts = await runtime.retrying('sample _ids', sample, signal);
  return PartitionTable.fresh(collection, starts, save, range);
}

/**
 * A partition is only closed early at a document that was read, and no time stays readable for longer than five
 * minutes. So where few documents match, each partition has to be short from the start.
 */
const filteredBytes = 256 * 2 ** 20;
/** All partitions of a collection are one document of the metadata. */
const filteredStartsMax = 4_096;

function filteredStarts({ sizeBytes }: TaskCollection, { config }: Runtime): number {
  return Math.max(config.readers, Math.min(filteredStartsMax, Math.ceil(sizeBytes / filteredBytes)));
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
