import { headerBytes, messageFlag, opCode, ProtocolError } from './protocol.js';

/** An OP_MSG as it came in, its documents not yet decoded. */
export interface IncomingMessage {
  readonly flags: number;
  readonly body: Buffer;
  readonly sequences: ReadonlyMap<string, Uint8Array[]>;
}

const checksumBytes = 4;

/**
 * @param content the message after its header
 * @throws ProtocolError when a section is malformed or the body is missing
 */
export function readMessage(content: Buffer): IncomingMessage {
  const flags = content.readUInt32LE(0);
  const end = content.length - ((flags & messageFlag.checksumPresent) !== 0 ? checksumBytes : 0);
  const sequences = new Map<string, Uint8Array[]>();
  let body: Buffer | undefined;
  let offset = 4;
  while (offset < end) {
    const kind = content.readUInt8(offset);
    const size = content.readInt32LE(offset + 1);
    const next = offset + 1 + size;
    if (size < 5 || next > end) throw new ProtocolError('section reaches beyond the message');
    if (kind === 0) body = content.subarray(offset + 1, next);
    else if (kind === 1) readSequence(content.subarray(offset + 5, next), sequences);
    else throw new ProtocolError(`unknown section kind ${kind}`);
    offset = next;
  }
  if (body === undefined) throw new ProtocolError('OP_MSG without a body');
  return { flags, body, sequences };
}

function readSequence(section: Buffer, sequences: Map<string, Uint8Array[]>): void {
  const nameEnd = section.indexOf(0);
  if (nameEnd < 0) throw new ProtocolError('document sequence without a name');
  const documents: Uint8Array[] = [];
  let offset = nameEnd + 1;
  while (offset < section.length) {
    const size = section.readInt32LE(offset);
    if (size < 5 || offset + size > section.length) throw new ProtocolError('document reaches beyond its sequence');
    documents.push(section.subarray(offset, offset + size));
    offset += size;
  }
  sequences.set(section.toString('utf8', 0, nameEnd), documents);
}

/** Header, flags and section kind of an answer whose body follows as it is. */
export function messagePrefix(bodyBytes: number, requestId: number, responseTo: number, flags: number): Buffer {
  const prefix = Buffer.allocUnsafe(headerBytes + 5);
  prefix.writeInt32LE(prefix.length + bodyBytes, 0);
  prefix.writeInt32LE(requestId, 4);
  prefix.writeInt32LE(responseTo, 8);
  prefix.writeInt32LE(opCode.message, 12);
  prefix.writeUInt32LE(flags, 16);
  prefix.writeUInt8(0, 20);
  return prefix;
}
