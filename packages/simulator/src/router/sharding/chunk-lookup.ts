import type { Doc, Value } from '../../bson/value.js';
import { documentText } from '../../bson/text.js';
import type { Chunk } from '../../config/chunk-map.js';
import { compareKeys, type KeyValues } from '../../config/shard-key.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { CommandError } from '../../node/command.js';
import { docOf } from '../../node/doc-fields.js';

/** A bound that a command gives, completed to the whole shard key. */
export function boundKey(collection: ShardedCollection, bound: Doc): Value[] {
  return collection.key.boundFrom(bound);
}

/** @throws CommandError 2 when the command has no `bounds` */
export function boundsOf(collection: ShardedCollection, body: Doc): [KeyValues, KeyValues] {
  const bounds = body.get('bounds');
  const [min, max] = Array.isArray(bounds) ? bounds : [];
  if (!(min instanceof Map) || !(max instanceof Map)) throw new CommandError(2, 'BadValue', 'no bounds were specified');
  return [collection.key.boundFrom(min), collection.key.boundFrom(max)];
}

/**
 * The chunk that a command names by its bounds or by a document's shard key.
 * @throws CommandError 61 or 2 when there is none
 */
export function chunkOf(collection: ShardedCollection, body: Doc): Chunk {
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

/** True for documents whose shard key lies in a range. */
export function inRange(collection: ShardedCollection, min: KeyValues, max: KeyValues): (document: Uint8Array) => boolean {
  return (document) => {
    const key = collection.key.keyOf(document);
    return compareKeys(min, key) <= 0 && compareKeys(key, max) < 0;
  };
}
