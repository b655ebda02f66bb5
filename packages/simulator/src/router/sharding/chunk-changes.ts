import { ObjectId, Timestamp } from 'bson';
import { documentText } from '../../bson/text.js';
import type { Chunk, ChunkOwner } from '../../config/chunk-map.js';
import { compareKeys, type KeyValues } from '../../config/shard-key.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import type { ShardingCatalog } from '../../config/sharding-catalog.js';
import { CommandError } from '../../node/command.js';

/**
 * Seconds for which former owners of a chunk are recorded (server source: the snapshot window, when nothing else is
 * longer).
 */
const historySeconds = 300;

/** Replaces chunks of a collection by others, in memory and then in the config database. */
async function saveChunks(
  catalog: ShardingCatalog,
  collection: ShardedCollection,
  gone: readonly Chunk[],
  added: readonly Chunk[],
): Promise<void> {
  const ids = new Set(gone.map((chunk) => chunk.id.toHexString()));
  await catalog.saveCollection({ ...collection, chunks: collection.chunks.replaced(ids, added) });
}

/**
 * Splits a chunk at keys in ascending order.
 * @throws CommandError 2 when a key is a bound of the chunk or lies outside of it
 */
export async function splitChunk(
  catalog: ShardingCatalog,
  collection: ShardedCollection,
  chunk: Chunk,
  at: readonly KeyValues[],
): Promise<void> {
  const { t, i } = collection.chunks.version();
  for (const key of at) refuseOutside(collection, chunk, key);
  const bounds = [chunk.min, ...at, chunk.max];
  const parts = bounds.slice(0, -1).map((min, index): Chunk => {
    const id = index === 0 ? chunk.id : new ObjectId();
    return {
      ...withoutJumbo(chunk),
      isSplit: true,
      id,
      min,
      max: bounds[index + 1] ?? chunk.max,
      version: new Timestamp({ t, i: i + 1 + index }),
    };
  });
  await saveChunks(catalog, collection, [chunk], parts);
}

function refuseOutside(collection: ShardedCollection, chunk: Chunk, key: KeyValues): void {
  const shown = documentText(collection.key.boundDocument(key));
  if (compareKeys(key, chunk.min) === 0 || compareKeys(key, chunk.max) === 0) {
    throw new CommandError(2, 'BadValue', `new split key ${shown} is a boundary key of existing chunk`);
  }
  if (compareKeys(key, chunk.min) < 0 || compareKeys(key, chunk.max) > 0) {
    throw new CommandError(2, 'BadValue', `new split key ${shown} is not contained in the chunk`);
  }
}

/** Merges adjacent chunks of one shard. Their former owners are lost. */
export async function mergeChunks(
  catalog: ShardingCatalog,
  collection: ShardedCollection,
  chunks: readonly Chunk[],
): Promise<void> {
  const [first] = chunks;
  const last = chunks[chunks.length - 1];
  if (first === undefined || last === undefined) return;
  const { t, i } = collection.chunks.version();
  const history = [{ shard: first.shard, validAfter: catalog.clock.tick() }];
  await saveChunks(catalog, collection, chunks, [
    { ...withoutJumbo(first), max: last.max, version: new Timestamp({ t, i: i + 1 }), history },
  ]);
}

/**
 * Makes another shard the owner of a chunk. One chunk that the donor retains gets a new version too, so that routers
 * refresh.
 */
export async function giveChunk(
  catalog: ShardingCatalog,
  collection: ShardedCollection,
  chunk: Chunk,
  to: string,
): Promise<void> {
  const major = collection.chunks.version().t + 1;
  const owner = { shard: to, validAfter: catalog.clock.tick() };
  const history = keptHistory([owner, ...chunk.history]);
  const moved: Chunk = { ...withoutJumbo(chunk), shard: to, version: new Timestamp({ t: major, i: 0 }), history };
  const left = collection.chunks.chunks.find((each) => each.shard === chunk.shard && each !== chunk);
  const bumped = left === undefined ? [] : [{ ...left, version: new Timestamp({ t: major, i: 1 }) }];
  await saveChunks(catalog, collection, left === undefined ? [chunk] : [chunk, left], [moved, ...bumped]);
}

/** Sets the flag of a chunk that is too large to move. */
export async function markJumbo(catalog: ShardingCatalog, collection: ShardedCollection, chunk: Chunk): Promise<void> {
  await saveChunks(catalog, collection, [chunk], [{ ...chunk, jumbo: true }]);
}

/** Clears that flag, with a new version: routers refresh as after a move. */
export async function clearJumbo(catalog: ShardingCatalog, collection: ShardedCollection, chunk: Chunk): Promise<void> {
  if (chunk.jumbo !== true) return;
  await saveChunks(catalog, collection, [chunk], [{ ...withoutJumbo(chunk), version: nextMajor(collection) }]);
}

/** Gives a chunk a new version only, as DDL changes do that keep chunks from moving. */
export async function bumpVersion(catalog: ShardingCatalog, collection: ShardedCollection): Promise<void> {
  const [first] = collection.chunks.chunks;
  if (first !== undefined)
    await saveChunks(catalog, collection, [first], [{ ...first, version: nextMajor(collection) }]);
}

function nextMajor(collection: ShardedCollection): Timestamp {
  return new Timestamp({ t: collection.chunks.version().t + 1, i: 0 });
}

/** The new owner, and former ones that a read in the snapshot window may need: at least one (server source). */
function keptHistory([owner, before, ...older]: readonly ChunkOwner[]): readonly ChunkOwner[] {
  const oldest_seconds = (owner?.validAfter.t ?? 0) - historySeconds;
  const kept = older.filter(({ validAfter }) => validAfter.t >= oldest_seconds);
  return [owner, before, ...kept].filter((each) => each !== undefined);
}

function withoutJumbo(chunk: Chunk): Chunk {
  const { id, min, max, shard, version, history, isSplit = false } = chunk;
  return { id, min, max, shard, version, history, isSplit };
}
