import { checkDocument } from './document-check.js';
import { headerBytes, opCode, ProtocolError } from './protocol.js';

/** An OP_QUERY: drivers still send their first `isMaster` this way, as a query on `$cmd`. */
interface LegacyQuery {
  /** Undefined for queries on collections, which are no commands. */
  readonly db: string | undefined;
  readonly body: Buffer;
}

const commandSuffix = '.$cmd';
/** Documents to skip and to return. */
const countBytes = 8;
const awaitCapable = 8;

/**
 * @param frame a whole message
 * @throws ProtocolError when it is too short for its fields, CommandError 22 when the query is no document
 */
export function readLegacyQuery(frame: Buffer): LegacyQuery {
  const nameStart = headerBytes + 4;
  const nameEnd = frame.indexOf(0, nameStart);
  const start = nameEnd + 1 + countBytes;
  if (nameEnd < nameStart || start > frame.length) throw new ProtocolError('OP_QUERY is too short');
  const namespace = frame.toString('utf8', nameStart, nameEnd);
  const body = frame.subarray(start, start + checkDocument(frame, start));
  return { db: namespace.endsWith(commandSuffix) ? namespace.slice(0, -commandSuffix.length) : undefined, body };
}

/** Header and fields of an OP_REPLY with one document, which follows unchanged. */
export function legacyReplyPrefix(bodyBytes: number, requestId: number, responseTo: number): Buffer {
  const prefix = Buffer.alloc(headerBytes + 20);
  prefix.writeInt32LE(prefix.length + bodyBytes, 0);
  prefix.writeInt32LE(requestId, 4);
  prefix.writeInt32LE(responseTo, 8);
  prefix.writeInt32LE(opCode.reply, 12);
  prefix.writeInt32LE(awaitCapable, 16);
  prefix.writeInt32LE(1, 32);
  return prefix;
}
