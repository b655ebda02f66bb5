import { Int32 } from 'bson';
import { hashShardKeyValue } from '../../bson/hash.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { unsimulated } from '../../node/unsimulated.js';
import { failure } from '../failure.js';
import { optionalNumber, type CommandContext } from './command-context.js';

/** `appendOplogNote`: an entry without an event that advances the shard's time. */
export function appendOplogNote({ state, request }: CommandContext): Doc {
  const data = request.body.get('data');
  if (!(data instanceof Map))
    throw failure.typeMismatch("BSON field 'appendOplogNote.data' is the wrong type, expected type 'object'");
  state.oplog.appendSilent(data);
  return new Map();
}

const megabyte = 1024 * 1024;
/** The smallest oplog that `replSetResizeOplog` makes, in megabytes (manual). */
const oplogMegabytesMin = 990;

/**
 * `replSetResizeOplog`: the oplog's size in megabytes.
 * @throws CommandError 51024 for a size below 990 MB, 72 without one, 115 for hours for which entries stay beyond it
 */
export function resizeOplog(context: CommandContext): Doc {
  if (context.request.body.has('minRetentionHours')) throw unsimulated('replSetResizeOplog.minRetentionHours');
  const size = optionalNumber(context, 'size');
  if (size === undefined) {
    throw failure.invalidOptions(
      "Either the 'size' field or the 'minRetentionHours' field must be specified in the replSetResizeOplog command",
    );
  }
  if (size < oplogMegabytesMin) {
    throw new CommandError(
      51024,
      'Location51024',
      `BSON field 'size' value must be >= ${oplogMegabytesMin}, actual value '${size}'`,
    );
  }
  context.state.oplog.resize(size * megabyte);
  return new Map();
}

/** `_hashBSONElement`: the value of a hashed index. */
export function hashElement({ request }: CommandContext): Doc {
  const key = request.body.get(request.name) ?? null;
  return new Map<string, Value>([
    ['key', key],
    ['seed', request.body.get('seed') ?? new Int32(0)],
    ['out', hashShardKeyValue(key)],
  ]);
}
