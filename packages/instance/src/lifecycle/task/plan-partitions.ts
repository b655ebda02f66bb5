import { type CopyOrder, describeOrder } from '@convoy/api/contract/copy-order';
import type { Document } from 'mongodb';
import type { RawValue } from '../../bson/scan.js';
import type { NodeClient } from '../../cluster/node-client.js';
import { chooseOrder, detectBytesMin } from '../../copy/choose-order.js';
import { startingPoints } from '../../copy/starting-points.js';
import type { SyncedCollection } from '../../store/synced-collection.js';
import { namespaceOf } from '../../catalog/namespace.js';
import { PartitionTable, type SavePartitions } from '../../store/partition-table.js';
import type { Runtime } from '../migration/runtime.js';
import type { TaskCollection } from './task-collections.js';

/**
 * The partitions of a collection whose copy begins: one for each reader that starts on it at once, or one for a copy in
 * natural order.
 * @param detectMin bytes of a part from which on `detectRandomId` looks at its `_id`s
 */
export async function freshTable(
  task: TaskCollection,
  client: NodeClient,
  runtime: Runtime,
  save: SavePartitions,
  signal: AbortSignal,
  detectMin = detectBytesMin,
): Promise<PartitionTable> {
  const { collection, range, sizeBytes, orderWish } = task;
  const choose = () => chooseOrder(client, collection, orderWish, { part: sizeBytes, detectMin }, signal);
  const order = await runtime.retrying('sample _ids', choose, signal);
  if (order !== null) logOrder(collection, order, runtime);
  if (order?.order === 'natural') return PartitionTable.fresh(collection, [], save, range, order);
  const starts = await startsOf(task, client, runtime, signal);
  return PartitionTable.fresh(collection, starts, save, range, order);
}

function logOrder(collection: SyncedCollection, order: CopyOrder, { logger }: Pick<Runtime, 'logger'>): void {
  const { reason, description } = describeOrder(order);
  const fields = { namespace: namespaceOf(collection), order: order.order, reason };
  logger.info({ event: 'copyOrderChosen', ...fields }, description);
}

/** Logs that a collection begins again in `_id` order. */
export function logLeftOrder(
  collection: SyncedCollection,
  order: CopyOrder | null,
  { logger }: Pick<Runtime, 'logger'>,
): void {
  if (order === null) return;
  const namespace = namespaceOf(collection);
  const { reason, description } = describeOrder(order);
  logger.warn({ event: 'copyOrderLeft', namespace, reason }, `the copy of a collection begins again. ${description}`);
}

/** Where the partitions of a copy in `_id` order start, besides the first. */
export function startsOf(
  task: TaskCollection,
  client: NodeClient,
  runtime: Runtime,
  signal: AbortSignal,
): Promise<RawValue[]> {
  const { collection, range, sizeBytes, seenPerOwned } = task;
  const startsMax = collection.documentFilter === undefined ? runtime.config.readers : filteredStarts(task, runtime);
  const sample = () => startingPoints(client, collection, { sizeBytes, seenPerOwned, range, startsMax }, signal);
  return runtime.retrying('sample _ids', sample, signal);
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
