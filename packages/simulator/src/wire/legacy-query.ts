import { headerBytes, opCode, ProtocolError } from './protocol.js';

/** An OP_QUERY on a `$cmd` collection: drivers still send their first `isMaster` so. */
export interface LegacyQuery {
  readonly db: string;
  readonly body: Buffer;
}

const commandSuffix = '.$cmd';

/**
 * @param content the message after its header
 * @throws ProtocolError when it is not a command
 */
export function readLegacyQuery(content: Buffer): LegacyQuery {
  const nameEnd = content.indexOf(0, 4);
  if (nameEnd < 0) throw new ProtocolError('OP_QUERY without a collection name');
  const namespace = content.toString('utf8', 4, nameEnd);
  if (!namespace.endsWith(commandSuffix)) throw new ProtocolError(`OP_QUERY on ${namespace} is no command`);
  const start = nameEnd + 1 + 8;
  return {
    db: namespace.slice(0, -commandSuffix.length),
    body: content.subarray(start, start + content.readInt32LE(start)),
  };
}

/** Header and fields of an OP_REPLY with one document, which follows as it is. */
export function legacyReplyPrefix(bodyBytes: number, requestId: number, responseTo: number): Buffer {
  const prefix = Buffer.alloc(headerBytes + 20);
  prefix.writeInt32LE(prefix.length + bodyBytes, 0);
  prefix.writeInt32LE(requestId, 4);
  prefix.writeInt32LE(responseTo, 8);
  prefix.writeInt32LE(opCode.reply, 12);
  const awaitCapable = 8;
  prefix.writeInt32LE(awaitCapable, 16);
  prefix.writeInt32LE(1, 32);
  return prefix;
}
