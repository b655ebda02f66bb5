import { Int32 } from 'bson';
import { hashShardKeyValue } from '../../bson/hash.js';
import type { Doc, Value } from '../../bson/value.js';
import { failure } from '../failure.js';
import type { CommandContext } from './command-context.js';

/** `appendOplogNote`: an entry without an event that moves the shard's time. */
export function appendOplogNote({ state, request }: CommandContext): Doc {
  const data = request.body.get('data');
  if (!(data instanceof Map)) throw failure.typeMismatch("BSON field 'appendOplogNote.data' is the wrong type, expected type 'object'");
  state.oplog.appendSilent(data);
  return new Map();
}

/** `_hashBSONElement`: what a hashed index stores for a value. */
export function hashElement({ request }: CommandContext): Doc {
  const key = request.body.get(request.name) ?? null;
  return new Map<string, Value>([
    ['key', key],
    ['seed', request.body.get('seed') ?? new Int32(0)],
    ['out', hashShardKeyValue(key)],
  ]);
}
