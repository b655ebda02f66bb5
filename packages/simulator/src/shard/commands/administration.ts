import { Int32 } from 'bson';
import { hashShardKeyValue } from '../../bson/hash.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
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
const millisecondsPerHour = 3_600_000;
/** The smallest oplog that `replSetResizeOplog` makes, in megabytes (manual). */
const oplogMegabytesMin = 990;

/**
 * `replSetResizeOplog`: the oplog's size in megabytes, and the hours for which entries stay beyond it.
 * @throws CommandError 51024 for a size below 990 MB or a negative time, 72 without either
 */
export function resizeOplog(context: CommandContext): Doc {
  const { oplog } = context.state;
  const size = optionalNumber(context, 'size');
  const hours = optionalNumber(context, 'minRetentionHours');
  if (size === undefined && hours === undefined) {
    throw failure.invalidOptions(
      "Either the 'size' field or the 'minRetentionHours' field must be specified in the replSetResizeOplog command",
    );
  }
  refuseBelow('size', size, oplogMegabytesMin);
  refuseBelow('minRetentionHours', hours, 0);
  const bytesMax = size === undefined ? oplog.bytesMax : size * megabyte;
  oplog.resize(bytesMax, hours === undefined ? oplog.retentionMs : hours * millisecondsPerHour);
  return new Map();
}

function refuseBelow(field: string, value: number | undefined, least: number): void {
  if (value === undefined || value >= least) return;
  throw new CommandError(
    51024,
    'Location51024',
    `BSON field '${field}' value must be >= ${least}, actual value '${value}'`,
  );
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
