import { Int32 } from 'bson';
import { documentText, valueText } from '../../bson/text.js';
import { typeName } from '../../bson/type-of.js';
import type { Doc, Value } from '../../bson/value.js';
import type { Chunk } from '../../config/chunk-map.js';
import { compareKeys, isHashBound, type KeyValues } from '../../config/shard-key.js';
import { refuseUnstorable } from '../../config/storable-key.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOf, docOrEmpty, isTrue, requiredText } from '../../node/doc-fields.js';
import type { RouterContext } from '../router-context.js';
import { clearJumbo, mergeChunks, splitChunk } from './chunk-changes.js';
import { errorName } from '../../node/error-name.js';
import {
  boundKey,
  boundsOf,
  chunkBetween,
  chunkOf,
  chunkOfFound,
  chunkWith,
  inRange,
  isShardKey,
  listedBounds,
  lookedUp,
  rangeText,
  errorWithoutCode,
} from './chunk-lookup.js';
import { type Migration, moveChunk } from './chunk-migration.js';
import { servesKey } from './shard-collection.js';

/** Code of a chunk that has no key at which it can be split. */
const cannotSplit = 87;

/** `split` a chunk at a key (`middle`), or in the middle of its documents (`find`, `bounds`). */
export async function splitCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const collection = lookedUp(context, requiredText(request.body, 'split'));
  const { body } = request;
  const [find, middle] = [docOrEmpty(body.get('find')), docOrEmpty(body.get('middle'))];
  const bounds = listedBounds(body);
  refuseForms(find, bounds, middle);
  if (middle.size === 0) {
    const chunk = chunkOf(collection, find, bounds);
    await splitChunk(context.catalog, collection, chunk, [medianKey(context, collection, chunk)]);
    context.routing.forget(requiredText(body, 'split'));
    return new Map();
  }
  const shown = `new split key ${documentText(middle)}`;
  if (!isShardKey(collection, middle))
    throw errorWithoutCode(`${shown} is not valid for shard key pattern ${documentText(collection.key.doc)}`);
  const at = boundKey(collection, middle);
  const chunk = chunkWith(collection, at);
  if (compareKeys(chunk.min, at) === 0) {
    const [min, max] = [chunk.min, chunk.max].map((key) => documentText(collection.key.boundDocument(key)));
    throw errorWithoutCode(
      `new split key ${documentText(collection.key.boundDocument(at))} is a boundary key of existing chunk ` +
        `[${min ?? ''},${max ?? ''})`,
    );
  }
  refuseNoHash(collection, chunk, at);
  refuseUnstorable(middle);
  await splitChunk(context.catalog, collection, chunk, [at]);
  context.routing.forget(requiredText(body, 'split'));
  return new Map();
}

/** Keys under a hashed field are hashes, which are longs, or its ends. @throws CommandError 87 for others */
function refuseNoHash({ key }: ShardedCollection, chunk: Chunk, at: KeyValues): void {
  const value = at[key.hashedIndex] ?? null;
  if (key.hashedIndex < 0 || isHashBound(value)) return;
  const [min, max] = [chunk.min, chunk.max].map((bound) => documentText(key.boundDocument(bound)));
  const point = `${key.fields[key.hashedIndex] ?? ''}: ${valueText(value)}`;
  const rule =
    `splitChunk cannot split chunk [${min ?? ''}, ${max ?? ''}), split point ${point}Value of type ` +
    `'${typeName(value)}' is not allowed for hashed fields`;
  throw new CommandError(cannotSplit, errorName(cannotSplit), `split failed :: caused by :: ${rule}`);
}

/** One way to name a chunk, and one only. */
function refuseForms(find: Doc, bounds: readonly Doc[], middle: Doc): void {
  if (bounds.length === 1) throw errorWithoutCode('upper bound not specified');
  if (find.size > 0 && bounds.length > 0) throw errorWithoutCode('cannot specify bounds and find at the same time');
  if (find.size === 0 && bounds.length === 0 && middle.size === 0)
    throw errorWithoutCode('need to specify find/bounds or middle');
  if (find.size > 0 && middle.size > 0) throw errorWithoutCode('cannot specify find and middle together');
  if (bounds.length > 0 && middle.size > 0) throw errorWithoutCode('cannot specify bounds and middle together');
}

/**
 * The shard key in the middle of a chunk's documents.
 * @throws CommandError 27 without an index over the shard key, 87 when there is none that would split it, 96 for a
 * chunk without documents, 72 for a shard without any
 */
function medianKey(context: RouterContext, collection: ShardedCollection, chunk: Chunk): KeyValues {
  const { access } = context.catalog.shard(chunk.shard);
  const facts = access.collection(collection.namespace);
  if (facts?.indexes.some((index) => servesKey(index, collection.key)) !== true)
    throw new CommandError(
      27,
      'IndexNotFound',
      `couldn't find index over splitting key ${documentText(collection.key.doc)}`,
    );
  if (facts.documentCount === 0)
    throw new CommandError(72, 'InvalidOptions', 'need to specify the desired max chunk size');
  const keys = access
    .documents(collection.namespace, inRange(collection, chunk.min, chunk.max))
    .map((document) => collection.key.keyOf(document))
    .sort(compareKeys);
  if (keys.length === 0)
    throw new CommandError(
      96,
      'OperationFailed',
      "can't open a cursor to scan the range (desired range is possibly empty)",
    );
  const median = keys[Math.floor(keys.length / 2)];
  const [first] = keys;
  const key =
    first === undefined || median === undefined || compareKeys(median, first) > 0
      ? median
      : keys.find((each) => compareKeys(each, first) > 0);
  if (key === undefined)
    throw new CommandError(
      cannotSplit,
      errorName(cannotSplit),
      'Unable to find median in chunk because chunk is indivisible.',
    );
  return key;
}

/**
 * `mergeChunks`: merges adjacent chunks of one shard. A router that knows the collection as unsharded, or with another
 * key, does not refresh.
 */
export async function mergeChunksCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = requiredText(request.body, 'mergeChunks');
  const bounds = listedBounds(request.body);
  const [lower, upper] = bounds;
  if (lower === undefined) throw errorWithoutCode('no bounds were specified');
  if (upper === undefined || bounds.length > 2) throw errorWithoutCode('only a min and max bound may be specified');
  if (lower.size === 0) throw errorWithoutCode('no min key specified');
  if (upper.size === 0) throw errorWithoutCode('no max key specified');
  const known = context.routing.collection(namespace);
  if (known !== undefined) {
    boundsOf(known, lower, upper);
    context.routing.forget(namespace);
  }
  const collection = context.routing.collection(namespace);
  if (collection === undefined)
    throw new CommandError(118, 'NamespaceNotSharded', `Expected collection ${namespace} to be sharded`);
  const [min, max] = boundsOf(collection, lower, upper);
  const { shard } = chunkWith(collection, min);
  if (compareKeys(min, max) >= 0) {
    const [from, to] = [min, max].map((key) => documentText(collection.key.boundDocument(key)));
    throw new CommandError(
      9,
      'FailedToParse',
      `Failed to commit chunk merge :: caused by :: min: ${from ?? ''} should be less than max: ${to ?? ''}`,
    );
  }
  const chunks = collection.chunks.chunks.filter(
    (chunk) => chunk.shard === shard && compareKeys(chunk.min, min) >= 0 && compareKeys(chunk.min, max) < 0,
  );
  if (!fills(chunks, min, max)) {
    const cause =
      `could not merge chunks, shard ${shard} does not contain a sequence of chunks that exactly fills the range ` +
      rangeText(collection, min, max);
    throw new CommandError(20, 'IllegalOperation', `Failed to commit chunk merge :: caused by :: ${cause}`);
  }
  if (chunks.length > 1) await mergeChunks(context.catalog, collection, chunks);
  return new Map();
}

function fills(chunks: readonly Chunk[], min: KeyValues, max: KeyValues): boolean {
  const ends = [min, ...chunks.map((chunk) => chunk.max)];
  return (
    chunks.length > 0 &&
    chunks.every((chunk, at) => compareKeys(chunk.min, ends[at] ?? []) === 0) &&
    compareKeys(ends.at(-1) ?? [], max) === 0
  );
}

/** `moveChunk`: moves a whole chunk to another shard. Its router drops its routing, as it does after a split. */
export async function moveChunkCommand(
  context: RouterContext,
  request: CommandRequest,
  migration: Migration,
): Promise<Doc> {
  const startedMs = Date.now();
  const { body, signal } = request;
  const namespace = requiredText(body, 'moveChunk');
  const collection = lookedUp(context, namespace);
  const target = body.get('to');
  if (typeof target !== 'string') throw new CommandError(14, 'TypeMismatch', "'to' must be of type String");
  if (target === '') throw errorWithoutCode('you have to specify where you want to move the chunk');
  const to = context.catalog.shards.find(({ id }) => id === target);
  if (to === undefined) throw new CommandError(70, 'ShardNotFound', 'moveChunk destination shard does not exist');
  const find = docOrEmpty(body.get('find'));
  const bounds = listedBounds(body);
  if ((find.size === 0) === (bounds.length === 0))
    throw errorWithoutCode('need to specify either a find query, or both lower and upper bounds.');
  const chunk = chunkOf(collection, find, bounds);
  if (to.id === chunk.shard) return doc(['millis', new Int32(0)]);
  await moveChunk(migration, namespace, chunk.min, to, {
    waitForDelete: isTrue(body.get('_waitForDelete')),
    forceJumbo: isTrue(body.get('forceJumbo')),
    signal,
  });
  context.routing.forget(namespace);
  return doc(['millis', new Int32(Date.now() - startedMs)]);
}

/** `clearJumboFlag`. */
export async function clearJumboCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const collection = lookedUp(context, requiredText(request.body, 'clearJumboFlag'));
  await clearJumbo(
    context.catalog,
    collection,
    flaggedChunk(collection, docOf(request.body.get('find')), listedBounds(request.body)),
  );
  return new Map();
}

function flaggedChunk(collection: ShardedCollection, find: Doc | undefined, bounds: readonly Doc[]): Chunk {
  const [min, max] = bounds;
  if (find === undefined && (min === undefined || max === undefined))
    throw new CommandError(72, 'InvalidOptions', 'need to specify find or bounds');
  if (find !== undefined && min !== undefined)
    throw new CommandError(72, 'InvalidOptions', 'cannot specify bounds and find at the same time');
  if (find !== undefined) {
    const found = chunkOfFound(collection, find);
    if (found === undefined)
      throw new CommandError(51260, 'Location51260', `no shard key found in chunk query ${documentText(find)}`);
    return found;
  }
  const keys = [
    boundKey(collection, min ?? new Map<string, Value>()),
    boundKey(collection, max ?? new Map<string, Value>()),
  ] as const;
  const chunk = chunkBetween(collection, keys);
  if (chunk === undefined)
    throw new CommandError(
      51261,
      'Location51261',
      `no chunk found with the shard key bounds ${rangeText(collection, ...keys)}`,
    );
  return chunk;
}
