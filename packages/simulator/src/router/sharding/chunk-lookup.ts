import type { Doc, Value } from '../../bson/value.js';
import { documentText } from '../../bson/text.js';
import type { Chunk } from '../../config/chunk-map.js';
import { compareKeys, type KeyValues } from '../../config/shard-key.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { CommandError } from '../../node/command.js';
import type { RouterContext } from '../router-context.js';
import { equalityFields } from '../../query/bounds.js';

/** A bound of a command, completed to the whole shard key. */
export function boundKey(collection: ShardedCollection, bound: Doc): Value[] {
  return collection.key.boundFrom(bound);
}

/**
 * A sharded collection that the router refreshes, and knows from then on.
 * @throws CommandError 118 when it is not sharded
 */
export function lookedUp({ catalog, routing }: RouterContext, namespace: string): ShardedCollection {
  routing.forget(namespace);
  return routing.collection(namespace) ?? catalog.sharded(namespace);
}

/** A refusal that routers return without a code. */
export function errorWithoutCode(message: string): CommandError {
  return new CommandError(0, '', message);
}

/** Two bounds of chunks, each with the whole shard key. @throws CommandError without a code for others */
export function boundsOf(collection: ShardedCollection, min: Doc, max: Doc): [KeyValues, KeyValues] {
  if (!isShardKey(collection, min) || !isShardKey(collection, max)) {
    const shown = `[${documentText(min)},${documentText(max)})`;
    throw errorWithoutCode(
      `shard key bounds ${shown} are not valid for shard key pattern ${documentText(collection.key.doc)}`,
    );
  }
  return [boundKey(collection, min), boundKey(collection, max)];
}

/** True for a document with all fields of a shard key and no other. */
export function isShardKey({ key }: ShardedCollection, given: Doc): boolean {
  return given.size === key.fields.length && key.fields.every((field) => given.has(field));
}

/** A range of keys as messages show it. */
export function rangeText({ key }: ShardedCollection, min: KeyValues, max: KeyValues): string {
  return `[${documentText(key.boundDocument(min))}, ${documentText(key.boundDocument(max))})`;
}

/** The chunk of a document in a command. @throws CommandError 61 for a key in no chunk */
export function chunkOfFound(collection: ShardedCollection, find: Doc): Chunk | undefined {
  const key = collection.key.keyFrom(equalityFields(find));
  return key === undefined ? undefined : chunkWith(collection, key);
}

/** The chunk that holds a key. @throws CommandError 61 for a key beyond all chunks */
export function chunkWith(collection: ShardedCollection, key: KeyValues): Chunk {
  collection.chunks.ownerOf(key, collection);
  return collection.chunks.find(key);
}

/** The chunk with these bounds, or undefined. @throws CommandError 61 as `chunkWith` */
export function chunkBetween(
  collection: ShardedCollection,
  [min, max]: readonly [KeyValues, KeyValues],
): Chunk | undefined {
  const chunk = chunkWith(collection, min);
  return compareKeys(chunk.min, min) === 0 && compareKeys(chunk.max, max) === 0 ? chunk : undefined;
}

/**
 * The chunk that a command names by its bounds or by a document's shard key.
 * @throws CommandError without a code when there is none
 */
export function chunkOf(collection: ShardedCollection, find: Doc, bounds: readonly Doc[]): Chunk {
  if (find.size > 0) {
    const found = chunkOfFound(collection, find);
    if (found === undefined) throw errorWithoutCode(`no shard key found in chunk query ${documentText(find)}`);
    return found;
  }
  const [min = find, max = find] = bounds;
  const keys = boundsOf(collection, min, max);
  const chunk = chunkBetween(collection, keys);
  if (chunk === undefined)
    throw errorWithoutCode(`no chunk found with the shard key bounds ${rangeText(collection, ...keys)}`);
  return chunk;
}

/** The documents of a field that lists bounds. */
export function listedBounds(body: Doc): Doc[] {
  const bounds = body.get('bounds');
  return Array.isArray(bounds) ? bounds.filter((bound) => bound instanceof Map) : [];
}

/** True for documents whose shard key lies in a range. */
export function inRange(
  collection: ShardedCollection,
  min: KeyValues,
  max: KeyValues,
): (document: Uint8Array) => boolean {
  return (document) => {
    const key = collection.key.keyOf(document);
    return compareKeys(min, key) <= 0 && compareKeys(key, max) < 0;
  };
}
