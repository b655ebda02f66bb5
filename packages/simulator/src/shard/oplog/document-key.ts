import { scanPath } from '../../bson/scan.js';
import type { Doc } from '../../bson/value.js';
import type { DeleteOperation, NewShardOperation, UpdateOperation } from './entry.js';

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

/** The key of a document that was there before. */
export function keyBefore(operation: UpdateOperation | DeleteOperation): Doc {
  const isById = operation.kind === 'update' && operation.byId === true;
  return documentKeyFrom(operation.before, isById ? undefined : operation.target.shardKey);
}

/** The identity of the note of a first chunk, in the place of a document. */
export function newShardKey({ from, to }: NewShardOperation): Doc {
  return new Map([
    ['type', 'migrateChunkToNewShard'],
    ['from', from],
    ['to', to],
  ]);
}
