import type { CopyOrderReason } from '@convoy/api/contract/copy-order';
import { compareRaw } from '../../bson/order.js';
import { findValue, maxKey, minKey } from '../../bson/scan.js';
import { ChunkMap, type KeySource, shardKeyFields } from '../../bson/shard-key.js';
import { cappedWithFilter, type NamespaceFilter } from '../../catalog/namespace-filter.js';
import type { NamespaceRemap } from '../../catalog/namespace-remap.js';
import { type CatalogEntry, namespaceOf } from '../../catalog/namespace.js';
import { isClustered, isCollated, taskBoundsOf } from '../../catalog/task-bounds.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { seriesOf } from '../../cluster/time-series.js';
import type { OrderWish } from '../../copy/plan-copy.js';
import { type IdRange, wholeRange } from '../../store/partition.js';
import type { SyncedCollection } from '../../store/synced-collection.js';
import type { FollowedEntry } from './followed-collections.js';

/** A collection of a sync task, with what its copy plan needs. */
export interface TaskCollection {
  collection: SyncedCollection;
  /** The catalog entry that it comes from, with its name at that time. */
  entry: CatalogEntry;
  /** Name of its copy among the stored partitions. */
  copy: string;
  /** The range of `_id`s that the task reads. */
  range: IdRange;
  /** Estimated size of the task's part. */
  sizeBytes: number;
  /** Visible documents per owned document. */
  seenPerOwned: number;
  /** What the options say about the order of its copy. */
  orderWish: OrderWish;
}

/** Which documents of a collection are migrated, and under which name. */
export interface TaskChoice {
  filter: Pick<NamespaceFilter, 'documentFilter'>;
  remap: NamespaceRemap;
  /** Absent: collections are copied in `_id` order. */
  order?: OrderChoice;
}

/** Which collections are copied in natural order. */
export interface OrderChoice {
  /** Whether `copyInNaturalOrder` names a collection. */
  requested(database: string, name: string): boolean;
  /** Whether large collections are copied so because of their `_id`s. */
  detects: boolean;
  /** Whether the task reads from primaries. */
  readsPrimary: boolean;
}

/** The collections in which a sync task takes part, largest first. */
export function taskCollections(
  followed: readonly FollowedEntry[],
  shardId: string,
  source: ClusterClient,
  choice: TaskChoice,
  keepsBalancer = false,
): TaskCollection[] {
  const shared = followed.flatMap((one) => taskCollection(one, shardId, source, choice, keepsBalancer) ?? []);
  return shared.sort((a, b) => b.sizeBytes - a.sizeBytes);
}

/**
 * A task's part in a collection; null when it has none.
 * With direct access the task takes part if its shard holds documents of the collection: it has a chunk of it, or is
 * the primary shard of an unsharded one.
 * Through the router the task has a range of the `_id`s of every large collection, and a part of the small ones.
 * @param shardId of the present source: the shard that the task reads
 * @param keepsBalancer whether chunks may move at any time
 */
export function taskCollection(
  followed: FollowedEntry,
  shardId: string,
  source: ClusterClient,
  choice: TaskChoice,
  keepsBalancer = false,
): TaskCollection | null {
  if (followed.entry.type !== 'collection') return null;
  const described = describe(followed, source, choice);
  if (source.access !== 'direct')
    return ofRouterTask(followed, source.shardIds.indexOf(shardId), source, described, keepsBalancer);
  return holdsDocuments(followed.entry, shardId, source)
    ? { ...ofShard(followed, shardId, described), orderWish: orderWish(followed.entry, described, choice) }
    : null;
}

function orderWish(entry: CatalogEntry, described: DescribedCollection, { order }: TaskChoice): OrderWish {
  if (order === undefined) return noWish;
  const { detects } = order;
  const requested = order.requested(entry.database, entry.name);
  return { requested, detects, obstacle: orderObstacle(entry, described, order) };
}

function orderObstacle(
  { name, options }: CatalogEntry,
  { documentFilter, collated }: DescribedCollection,
  { readsPrimary }: OrderChoice,
): CopyOrderReason | null {
  if (!readsPrimary) return 'readPreference';
  // A read that seldom finds a document may take longer than the history lasts, and has no position until then.
  if (documentFilter !== undefined) return 'documentFilter';
  if (collated) return 'collation';
  return isClustered({ name, options }) ? 'clustered' : null;
}

function holdsDocuments(entry: CatalogEntry, shardId: string, source: ClusterClient): boolean {
  if (source.kind === 'replicaSet') return true;
  if (entry.sharding === null) return entry.primaryShard === shardId;
  return entry.sharding.chunks.some((chunk) => chunk.shard === shardId);
}

function ofShard(
  { entry, copy }: FollowedEntry,
  shardId: string,
  described: DescribedCollection,
): Omit<TaskCollection, 'orderWish'> {
  const chunks =
    described.sourceKey.length === 0 || entry.sharding === null
      ? null
      : new ChunkMap(described.sourceKey, entry.sharding.chunks);
  const owns = (document: Uint8Array, from: KeySource) => chunks === null || chunks.owns(document, shardId, from);
  const holders = new Set(entry.sharding?.chunks.map(({ shard }) => shard) ?? [shardId]).size;
  return {
    entry,
    copy,
    range: wholeRange,
    sizeBytes: entry.sizeBytes / holders,
    seenPerOwned: 1,
    collection: { ...described, readBy: 'uuid', showsOrphans: false, owns },
  };
}

/** First release whose multi-document writes skip orphans. */
const sparesOrphansRelease = 6;
/** First release whose reads accept the UUID that a name must have. */
const readsNameOfUuidRelease = 6;

function ofRouterTask(
  { entry, copy }: FollowedEntry,
  task: number,
  source: ClusterClient,
  described: DescribedCollection,
  keepsBalancer: boolean,
): TaskCollection | null {
  const range = rangeOfTask(entry, task, source.shardIds.length);
  if (range === null) return null;
  const mayHaveOrphans = entry.sharding !== null && (entry.sharding.everMoved || keepsBalancer);
  const showsOrphans = source.version[0] < sparesOrphansRelease && mayHaveOrphans;
  const readBy = source.version[0] < readsNameOfUuidRelease ? 'name' : 'nameOfUuid';
  const owns = (document: Uint8Array) => isWithin(document, range);
  const parts = taskBoundsOf(entry).length + 1;
  const collection: SyncedCollection = { ...described, readBy, showsOrphans, owns };
  const sizeBytes = entry.sizeBytes / parts;
  return { entry, copy, range, sizeBytes, seenPerOwned: parts, collection, orderWish: noWish };
}

/** Routers read in no natural order: the preflight check refuses the options. */
const noWish: OrderWish = { requested: false, detects: false, obstacle: null };

/** Null when the task has no part in the collection. */
function rangeOfTask(entry: CatalogEntry, task: number, tasks: number): IdRange | null {
  const bounds = taskBoundsOf(entry);
  if (bounds.length === 0) return taskOfWhole(entry, tasks) === task ? wholeRange : null;
  if (task > bounds.length) return null;
  return { lower: bounds[task - 1] ?? minKey, upper: bounds[task] ?? maxKey };
}

/** The UUID, whose last digits are random, assigns each small collection to a task. */
function taskOfWhole(entry: CatalogEntry, tasks: number): number {
  return Number.parseInt(entry.uuid.slice(-8), 16) % tasks;
}

function isWithin(document: Uint8Array, { lower, upper }: IdRange): boolean {
  const id = findValue(document, '_id');
  if (id === null || compareRaw(lower, id) > 0) return false;
  return upper === maxKey || compareRaw(id, upper) < 0;
}

type DescribedCollection = Omit<SyncedCollection, 'readBy' | 'showsOrphans' | 'owns'>;

/** @throws ConvoyError `documentFilterInvalid` for a capped collection, which cannot skip documents in its order */
function describe({ entry, notBefore }: FollowedEntry, source: ClusterClient, choice: TaskChoice): DescribedCollection {
  const documentFilter = choice.filter.documentFilter(entry.database, entry.name);
  if (documentFilter !== undefined && entry.options.capped === true) throw cappedWithFilter(namespaceOf(entry));
  const key = entry.sharding === null ? [] : shardKeyFields(entry.sharding.key);
  return {
    uuid: entry.uuid,
    database: entry.database,
    name: entry.name,
    destination: choice.remap.toDestination(entry),
    notBefore,
    capped: entry.options.capped === true,
    clustered: isClustered(entry),
    isSeries: seriesOf(entry.name) !== null,
    documentBytes: entry.documentCount > 0 ? entry.sizeBytes / entry.documentCount : 0,
    collated: isCollated(entry),
    documentFilter,
    sourceKey: source.kind === 'sharded' ? key : [],
    destinationKey: key,
  };
}
