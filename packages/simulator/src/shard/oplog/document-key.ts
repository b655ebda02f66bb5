import { scanPath } from '../../bson/scan.js';
import type { Doc } from '../../bson/value.js';
import type { NewShardOperation } from './entry.js';

/** The existing values of the shard key, then `_id` unless it is part of the key. */
export function documentKeyFrom(document: Uint8Array, shardKey: readonly string[] | undefined): Doc {
  const key: Doc = new Map();
  for (const path of shardKey ?? []) {
    const value = scanPath(document, path);
    if (value !== undefined) key.set(path, value);
  }
  if (!key.has('_id')) key.set('_id', scanPath(document, '_id') ?? null);
  return key;
}

/** The identity of the note of a first chunk, in the place of a document. */
export function newShardKey({ from, to }: NewShardOperation): Doc {
  return new Map([
    ['type', 'migrateChunkToNewShard'],
    ['from', from],
    ['to', to],
  ]);
}
