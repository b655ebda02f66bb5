import { Int32, ObjectId, Timestamp } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import type { Chunk } from '../../config/chunk-map.js';
import { compareKeys, type KeyValues } from '../../config/shard-key.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOf, isTrue, requiredText } from '../../node/doc-fields.js';
import { documentText } from '../../bson/text.js';
import type { RouterContext } from '../router-context.js';
import type { RangeDeletions } from './range-deletions.js';

/** What chunk migration needs beside the catalog. */
export interface Migration {
  readonly ranges: RangeDeletions;
  /** Milliseconds a shard leaves orphans where they are (`orphanCleanupDelaySecs`). */
  readonly cleanupDelayMs: (shard: string) => number;
}

/** `split` a chunk at a key, or in the middle of its documents. */
export async function splitCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const collection = context.catalog.sharded(requiredText(request.body, 'split'));
  const middle = docOf(request.body.get('middle'));
  const chunk = middle === undefined ? chunkOf(collection, request.body) : collection.chunks.find(exactKey(collection, middle));
  const at = middle === undefined ? medianKey(context, collection, chunk) : exactKey(collection, middle);
  if (compareKeys(at, chunk.min) === 0) {
    throw new CommandError(2, 'BadValue', `new split key ${documentText(collection.key.boundDocument(at))} is a boundary key of existing chunk`);
  }
  const { t, i } = nextMinor(collection, 0);
  await saveChunks(context, collection, [chunk], [
    { ...chunk, max: at, version: new Timestamp({ t, i }) },
    { ...chunk, id: new ObjectId(), min: at, version: new Timestamp({ t, i: i + 1 }) },
  ]);
  return new Map();
}

/** `mergeChunks`: joins neighbouring chunks of one shard. */
export async function mergeChunksCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const collection = context.catalog.sharded(requiredText(request.body, 'mergeChunks'));
  const [min, max] = boundsOf(collection, request.body);
  const chunks = collection.chunks.overlapping(min, max);
  const [first] = chunks;
  const fits = first !== undefined && compareKeys(first.min, min) === 0 && compareKeys(chunks[chunks.length - 1]?.max ?? [], max) === 0;
  if (!fits || chunks.length < 2 || chunks.some((chunk) => chunk.shard !== first.shard)) {
    throw new CommandError(20, 'IllegalOperation', `could not merge chunks, collection ${collection.namespace} does not contain a chunk range with these bounds on one shard`);
  }
  await saveChunks(context, collection, chunks, [{ ...first, max, version: nextMinor(collection, 0) }]);
  return new Map();
}

/** `moveChunk`: copies a chunk's documents to another shard, changes the owner, and leaves the rest to the clean-up. */
export async function moveChunkCommand(context: RouterContext, request: CommandRequest, migration: Migration): Promise<Doc> {
  const startedMs = Date.now();
  const namespace = requiredText(request.body, 'moveChunk');
  const collection = context.catalog.sharded(namespace);
  const chunk = chunkOf(collection, request.body);
  const to = context.catalog.shard(requiredText(request.body, 'to'));
  const from = context.catalog.shard(chunk.shard);
  if (from === to) return doc(['millis', new Int32(0)]);
  await migration.ranges.cleanNow(to, namespace);
  const facts = from.access.collection(namespace);
  if (facts === undefined) throw new CommandError(26, 'NamespaceNotFound', `ns does not exist: ${namespace}`);
  to.access.ensureCollection(namespace, facts.uuid, facts.options, facts.indexes);
  to.access.setShardKey(namespace, collection.key.doc);
  const inside = (document: Uint8Array): boolean => {
    const key = collection.key.keyOf(document);
    return compareKeys(chunk.min, key) <= 0 && compareKeys(key, chunk.max) < 0;
  };
  to.access.receiveMigrated(namespace, from.access.documents(namespace, inside));
  await commitMove(context, collection, chunk, to.id);
  const waits = isTrue(request.body.get('_waitForDelete'));
  const { done } = await migration.ranges.schedule(from, collection, chunk.min, chunk.max, waits ? 0 : migration.cleanupDelayMs(from.id));
  if (waits) await done;
  return doc(['millis', new Int32(Date.now() - startedMs)]);
}

async function commitMove(context: RouterContext, collection: ShardedCollection, chunk: Chunk, to: string): Promise<void> {
  const major = collection.chunks.version().t + 1;
  const owner = { shard: to, validAfter: context.clock.tick() };
  const moved: Chunk = { ...chunk, shard: to, version: new Timestamp({ t: major, i: 0 }), history: [owner, ...chunk.history] };
  const left = collection.chunks.chunks.find((each) => each.shard === chunk.shard && each !== chunk);
  const bumped = left === undefined ? [] : [{ ...left, version: new Timestamp({ t: major, i: 1 }) }];
  await saveChunks(context, collection, left === undefined ? [chunk] : [chunk, left], [moved, ...bumped]);
}

async function saveChunks(context: RouterContext, collection: ShardedCollection, gone: readonly Chunk[], added: readonly Chunk[]): Promise<void> {
  const ids = new Set(gone.map((chunk) => chunk.id.toHexString()));
  await context.catalog.saveCollection({ ...collection, chunks: collection.chunks.replaced(ids, added) });
}

function nextMinor(collection: ShardedCollection, ahead: number): Timestamp {
  const version = collection.chunks.version();
  return new Timestamp({ t: version.t, i: version.i + 1 + ahead });
}

function exactKey(collection: ShardedCollection, bound: Doc): Value[] {
  return collection.key.boundFrom(bound);
}

function boundsOf(collection: ShardedCollection, body: Doc): [KeyValues, KeyValues] {
  const bounds = body.get('bounds');
  const [min, max] = Array.isArray(bounds) ? bounds : [];
  if (!(min instanceof Map) || !(max instanceof Map)) throw new CommandError(2, 'BadValue', 'no bounds were specified');
  return [collection.key.boundFrom(min), collection.key.boundFrom(max)];
}

/** The chunk that a command names by its bounds or by a document's shard key. */
function chunkOf(collection: ShardedCollection, body: Doc): Chunk {
  const find = docOf(body.get('find'));
  if (find !== undefined) {
    const key = collection.key.keyFrom(find);
    if (key === undefined) throw new CommandError(61, 'ShardKeyNotFound', `no shard key found in chunk query ${documentText(find)}`);
    return collection.chunks.find(key);
  }
  const [min, max] = boundsOf(collection, body);
  const chunk = collection.chunks.find(min);
  if (compareKeys(chunk.min, min) !== 0 || compareKeys(chunk.max, max) !== 0) {
    const shown = `${documentText(collection.key.boundDocument(min))}, ${documentText(collection.key.boundDocument(max))}`;
    throw new CommandError(2, 'BadValue', `no chunk found with the shard key bounds [${shown})`);
  }
  return chunk;
}

function medianKey(context: RouterContext, collection: ShardedCollection, chunk: Chunk): KeyValues {
  const keys = context.catalog
    .shard(chunk.shard)
    .access.documents(collection.namespace, () => true)
    .map((document) => collection.key.keyOf(document))
    .filter((key) => compareKeys(chunk.min, key) <= 0 && compareKeys(key, chunk.max) < 0)
    .sort(compareKeys);
  const median = keys[Math.floor(keys.length / 2)];
  if (median === undefined) throw new CommandError(20, 'IllegalOperation', 'cannot find median in chunk, possibly empty');
  return median;
}
