import { Int32 } from 'bson';
import type { Doc } from '../../bson/value.js';
import type { Chunk } from '../../config/chunk-map.js';
import { compareKeys, type KeyValues } from '../../config/shard-key.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOf, isTrue, requiredText } from '../../node/doc-fields.js';
import type { RouterContext } from '../router-context.js';
import { clearJumbo, mergeChunks, splitChunk } from './chunk-changes.js';
import { boundKey, boundsOf, chunkOf, inRange } from './chunk-lookup.js';
import { type Migration, moveChunk } from './chunk-migration.js';
import { mergeableRuns } from './mergeable-chunks.js';

/** `split` a chunk at a key (`middle`), or in the middle of its documents (`find`, `bounds`). */
export async function splitCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const collection = context.catalog.sharded(requiredText(request.body, 'split'));
  const { body } = request;
  if (['middle', 'find', 'bounds'].filter((form) => body.has(form)).length > 1) {
    throw new CommandError(2, 'BadValue', 'cannot specify more than one of find, bounds and middle');
  }
  const middle = docOf(body.get('middle'));
  const chunk = middle === undefined ? chunkOf(collection, body) : collection.chunks.find(boundKey(collection, middle));
  const at = middle === undefined ? medianKey(context, collection, chunk) : boundKey(collection, middle);
  await splitChunk(context.catalog, collection, chunk, [at]);
  return new Map();
}

/**
 * The shard key in the middle of a chunk's documents.
 * @throws CommandError 20 when there is none that would split it
 */
function medianKey(context: RouterContext, collection: ShardedCollection, chunk: Chunk): KeyValues {
  const keys = context.catalog
    .shard(chunk.shard)
    .access.documents(collection.namespace, inRange(collection, chunk.min, chunk.max))
    .map((document) => collection.key.keyOf(document))
    .sort(compareKeys);
  const median = keys[Math.floor(keys.length / 2)];
  const key = median !== undefined && compareKeys(median, chunk.min) === 0 ? keys.find((each) => compareKeys(each, chunk.min) > 0) : median;
  if (key === undefined) throw new CommandError(20, 'IllegalOperation', 'cannot find median in chunk, possibly empty');
  return key;
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
  await mergeChunks(context.catalog, collection, chunks);
  return new Map();
}

/** `mergeAllChunksOnShard` (7.0): joins whatever neighbours of a shard nobody asks for at an earlier time any more. */
export async function mergeAllChunksCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = requiredText(request.body, 'mergeAllChunksOnShard');
  const shard = context.catalog.shard(requiredText(request.body, 'shard'));
  for (const run of mergeableRuns(context.catalog.sharded(namespace), shard.id, context.clock.current())) {
    await mergeChunks(context.catalog, context.catalog.sharded(namespace), run);
  }
  return new Map();
}

/** `moveChunk`: gives a whole chunk to another shard. */
export async function moveChunkCommand(context: RouterContext, request: CommandRequest, migration: Migration): Promise<Doc> {
  const startedMs = Date.now();
  const { body, signal } = request;
  const namespace = requiredText(body, 'moveChunk');
  const chunk = chunkOf(context.catalog.sharded(namespace), body);
  const to = context.catalog.shard(requiredText(body, 'to'));
  if (to.id === chunk.shard) return doc(['millis', new Int32(0)]);
  await moveChunk(migration, namespace, chunk.min, to, { waitForDelete: isTrue(body.get('_waitForDelete')), forceJumbo: isTrue(body.get('forceJumbo')), signal });
  return doc(['millis', new Int32(Date.now() - startedMs)]);
}

/**
 * `moveRange` (6.0): gives the range from `min` to `max` to another shard, splitting its chunk where needed. One of the
 * bounds may be left out: the chunk's own takes its place.
 */
export async function moveRangeCommand(context: RouterContext, request: CommandRequest, migration: Migration): Promise<Doc> {
  const { body, signal } = request;
  const namespace = requiredText(body, 'moveRange');
  const to = context.catalog.shard(requiredText(body, 'toShard'));
  const min = docOf(body.get('min'));
  const max = docOf(body.get('max'));
  const collection = context.catalog.sharded(namespace);
  if (min === undefined && max === undefined) throw new CommandError(2, 'BadValue', 'Must specify at least one of min/max');
  const upper = max === undefined ? undefined : boundKey(collection, max);
  const chunk = min === undefined ? chunkBelow(collection, upper ?? []) : collection.chunks.find(boundKey(collection, min));
  if (chunk.shard === to.id) return new Map();
  const lower = min === undefined ? chunk.min : boundKey(collection, min);
  await splitOff(context, collection, chunk, [lower, upper ?? chunk.max]);
  await moveChunk(migration, namespace, lower, to, { waitForDelete: isTrue(body.get('waitForDelete')), forceJumbo: isTrue(body.get('forceJumbo')), signal });
  return new Map();
}

/** The chunk that ends at, or holds the keys just below, a bound. */
function chunkBelow(collection: ShardedCollection, max: KeyValues): Chunk {
  const below = collection.chunks.chunks.filter((chunk) => compareKeys(chunk.min, max) < 0);
  const chunk = below[below.length - 1];
  if (chunk === undefined) throw new CommandError(2, 'BadValue', 'no chunk lies below this bound');
  return chunk;
}

async function splitOff(context: RouterContext, collection: ShardedCollection, chunk: Chunk, bounds: readonly KeyValues[]): Promise<void> {
  const inner = bounds.filter((bound) => compareKeys(bound, chunk.min) !== 0 && compareKeys(bound, chunk.max) !== 0);
  if (inner.length > 0) await splitChunk(context.catalog, collection, chunk, inner);
}

/** `clearJumboFlag`. */
export async function clearJumboCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const collection = context.catalog.sharded(requiredText(request.body, 'clearJumboFlag'));
  await clearJumbo(context.catalog, collection, chunkOf(collection, request.body));
  return new Map();
}
