import { makeUuid } from '../../bson/uuid.js';
import { documentText } from '../../bson/text.js';
import type { Chunk } from '../../config/chunk-map.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { KeyValues } from '../../config/shard-key.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import type { ShardingCatalog } from '../../config/sharding-catalog.js';
import { CommandError } from '../../node/command.js';
import { doc } from '../../node/doc-fields.js';
import { giveChunk } from './chunk-changes.js';
import { inRange } from './chunk-lookup.js';
import { servesKey } from './shard-collection.js';
import type { RangeDeletions } from './range-deletions.js';

/** What chunk migration needs. */
export interface Migration {
  readonly catalog: ShardingCatalog;
  readonly ranges: RangeDeletions;
  /** Milliseconds that a shard keeps orphans (`orphanCleanupDelaySecs`). */
  readonly cleanupDelayMs: (shard: string) => number;
  /**
   * Milliseconds that the last step of a move waits for transactions that wrote to the collection
   * (`migrationLockAcquisitionMaxWaitMS`).
   */
  readonly lockWaitMs: (shard: string) => number;
  /** Largest chunk that may move, in bytes. */
  readonly chunkBytesMax: () => number;
}

interface MoveOptions {
  /** Ends when the donor has cleaned up. */
  readonly waitForDelete?: boolean;
  /** Moves a chunk of any size. */
  readonly forceJumbo?: boolean;
  readonly signal: AbortSignal;
}

/** Tolerance of a chunk's size before it counts as too large (server source: migration chunk cloner). */
const tooLargeFactor = 1.3;
const writeConflict = 112;
const duplicateKey = 11000;

/** Donors and recipients of chunks. Each takes part in one migration at a time. */
const busy = new WeakMap<ShardingCatalog, Set<string>>();

/**
 * Moves a chunk: copies its documents and the session records of their writes, changes the owner, and leaves the rest
 * to the cleanup. Writers see one change of owner: nothing is lost between copy and change.
 * @param min lower bound of the chunk, which is looked up again after every wait
 * @throws CommandError 117 when a shard takes part in another migration; 153 for a chunk that is too large; 24 when
 * transactions block it
 */
export async function moveChunk(
  migration: Migration,
  namespace: string,
  min: KeyValues,
  to: ClusterShard,
  options: MoveOptions,
): Promise<void> {
  const { catalog, ranges } = migration;
  const planned = catalog.sharded(namespace).chunks.find(min);
  const from = catalog.shard(planned.shard);
  if (from === to) return;
  const leave = enter(catalog, from.id, to.id);
  let end: (() => Promise<void>) | undefined;
  try {
    await from.node.ready(options.signal);
    await to.node.ready(options.signal);
    await ranges.cleanNow(to, namespace, planned.min, planned.max);
    end = await showMove(catalog, namespace, planned, { from, to });
    await from.access.moveHeld(options.signal);
    const { collection, chunk, saved } = await handOverBetweenTransactions(
      migration,
      namespace,
      min,
      { from, to },
      options.forceJumbo === true,
    );
    await saved;
    const { done } = await ranges.schedule(
      from,
      collection,
      chunk.min,
      chunk.max,
      options.waitForDelete === true ? 0 : migration.cleanupDelayMs(from.id),
    );
    if (options.waitForDelete === true) await done;
  } finally {
    leave();
    await end?.();
  }
}

interface HandedOver {
  readonly collection: ShardedCollection;
  readonly chunk: Chunk;
  /** Resolves when the config database shows the new owner. */
  readonly saved: Promise<void>;
}

/**
 * Hands the chunk over as soon as no transaction blocks it: one that wrote on the old owner, or one that holds a key on
 * the new.
 */
async function handOverBetweenTransactions(
  migration: Migration,
  namespace: string,
  min: KeyValues,
  { from, to }: Ways,
  forceJumbo: boolean,
): Promise<HandedOver> {
  const limitMs = migration.lockWaitMs(from.id);
  for (;;) {
    await from.access.transactionsDone(namespace, limitMs);
    const collection = migration.catalog.sharded(namespace);
    const chunk = collection.chunks.find(min);
    if (chunk.shard !== from.id)
      throw new CommandError(117, 'ConflictingOperationInProgress', `chunk moved away from ${from.id} meanwhile`);
    try {
      return { collection, chunk, saved: handOver(migration, collection, chunk, { from, to }, forceJumbo) };
    } catch (error) {
      if (!(error instanceof CommandError) || error.code !== writeConflict) throw error;
      await to.access.transactionsDone(namespace, limitMs);
    }
  }
}

/** Copies and changes the owner in one step. @returns resolves when the config database shows it */
function handOver(
  { catalog, chunkBytesMax }: Migration,
  collection: ShardedCollection,
  chunk: Chunk,
  { from, to }: Ways,
  forceJumbo: boolean,
): Promise<void> {
  const { namespace } = collection;
  const facts = from.access.collection(namespace);
  if (facts === undefined) throw new CommandError(26, 'NamespaceNotFound', `ns does not exist: ${namespace}`);
  if (!facts.indexes.some((index) => servesKey(index, collection.key))) {
    throw new CommandError(
      27,
      'IndexNotFound',
      `can't find index with prefix ${documentText(collection.key.doc)} in storeCurrentLocs for ${namespace}`,
    );
  }
  const inside = inRange(collection, chunk.min, chunk.max);
  const documents = from.access.documents(namespace, inside);
  if (!forceJumbo) refuseTooLarge(collection, chunk, documents, chunkBytesMax());
  to.access.ensureCollection(namespace, facts.uuid, facts.options, facts.indexes);
  to.access.setShardKey(namespace, collection.key.doc);
  try {
    to.access.receiveMigrated(namespace, documents);
  } catch (error) {
    to.access.removeMigrated(namespace, inside);
    throw asDonorReports(error);
  }
  if (!collection.chunks.shards.includes(to.id)) from.access.noteNewShard(namespace, to.id);
  to.access.receiveSessionRecords(from.access.sessionRecords(namespace, inside));
  from.noteOrphans(collection);
  return giveChunk(catalog, collection, chunk, to.id);
}

/** A key that the recipient has twice interrupts its cloning, and the donor hears of the interruption only. */
function asDonorReports(error: unknown): unknown {
  if (!(error instanceof CommandError) || error.code !== duplicateKey) return error;
  const reason = 'Location51008: _migrateClone failed:  :: caused by :: operation was interrupted';
  return new CommandError(96, 'OperationFailed', `Data transfer error: migrate failed: ${reason}`);
}

function refuseTooLarge(
  collection: ShardedCollection,
  chunk: Chunk,
  documents: readonly Uint8Array[],
  bytesMax: number,
): void {
  const bytes = documents.reduce((sum, document) => sum + document.length, 0);
  if (bytes <= bytesMax * tooLargeFactor) return;
  const average = Math.max(1, Math.floor(bytes / documents.length));
  const range =
    `${documentText(collection.key.boundDocument(chunk.min))} -> ` +
    documentText(collection.key.boundDocument(chunk.max));
  const message =
    'Cannot move chunk: the maximum number of documents for a chunk is ' +
    `${Math.floor((bytesMax / average) * tooLargeFactor)}, ` +
    `the maximum chunk size is ${bytesMax}, average document size is ${average}. ` +
    `Found ${documents.length} documents in chunk  ns: ${collection.namespace} ${range}`;
  throw new CommandError(153, 'ChunkTooBig', message);
}

function enter(catalog: ShardingCatalog, from: string, to: string): () => void {
  const taking = busy.get(catalog) ?? new Set<string>();
  busy.set(catalog, taking);
  const occupied = [from, to].find((shard) => taking.has(shard));
  if (occupied !== undefined) {
    throw new CommandError(
      117,
      'ConflictingOperationInProgress',
      `Unable to start new balancer operation because shard ${occupied} takes part in another migration`,
    );
  }
  for (const shard of [from, to]) taking.add(shard);
  return () => {
    for (const shard of [from, to]) taking.delete(shard);
  };
}

/** Both shards of a move. */
interface Ways {
  readonly from: ClusterShard;
  readonly to: ClusterShard;
}

const coordinators = 'migrationCoordinators';

/**
 * Shows a move on the donor while it is under way: among its operations, and since 8.0 in its `config` (seen on
 * 8.0.10; of 6.0 and 7.0 it was not looked up).
 * @returns ends it
 */
async function showMove(
  catalog: ShardingCatalog,
  namespace: string,
  { min, max }: Chunk,
  { from, to }: Ways,
): Promise<() => Promise<void>> {
  const { key, uuid } = catalog.sharded(namespace);
  const range = { min: key.boundDocument(min), max: key.boundDocument(max) };
  const end = from.access.beginMove({ namespace, to: to.id, ...range });
  if (!catalog.version.atLeast(8, 0))
    return () => {
      end();
      return Promise.resolve();
    };
  const id = makeUuid();
  await from.cache.put(
    coordinators,
    doc(
      ['_id', id],
      ['nss', namespace],
      ['collectionUuid', uuid],
      ['donorShardId', from.id],
      ['recipientShardId', to.id],
      ['range', doc(['min', range.min], ['max', range.max])],
    ),
  );
  return async () => {
    end();
    if (from.node.up) await from.cache.remove(coordinators, doc(['_id', id]));
  };
}
