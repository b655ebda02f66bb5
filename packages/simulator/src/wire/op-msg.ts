import { CommandError } from '../node/command.js';
import { unsimulated } from '../node/unsimulated.js';
import { checkDocument } from './document-check.js';
import { headerBytes, messageFlag, opCode, ProtocolError } from './protocol.js';

/** An OP_MSG as received, its documents checked but not yet decoded. */
export interface IncomingMessage {
  readonly flags: number;
  readonly body: Buffer;
  readonly sequences: ReadonlyMap<string, Uint8Array[]>;
}

const flagBytes = 4;
/** The lower half of the flags must be understood. The upper half may be anything (OP_MSG specification). */
const requiredFlags = 0xffff;
const knownFlags = messageFlag.checksumPresent | messageFlag.moreToCome;

/**
 * The flags of an OP_MSG, whatever its content.
 * @throws ProtocolError when they are missing, or a required one is unknown
 */
export function readFlags(frame: Buffer): number {
  if (frame.length < headerBytes + flagBytes) throw new ProtocolError('OP_MSG is too short for its flags');
  const flags = frame.readUInt32LE(headerBytes);
  if ((flags & requiredFlags & ~knownFlags) !== 0)
    throw new ProtocolError(`OP_MSG with unknown flags ${flags.toString(2)}`);
  return flags;
}

/**
 * Reads a whole OP_MSG.
 * @throws CommandError for malformed sections and documents (error numbers of the server's message parser), 115 for a
 * checksum, which no driver sends by itself
 */
export function readMessage(frame: Buffer): IncomingMessage {
  const flags = readFlags(frame);
  if ((flags & messageFlag.checksumPresent) !== 0) throw unsimulated('the checksum of a message');
  const sections = new Sections();
  let at = headerBytes + flagBytes;
  while (at < frame.length) at = sections.read(frame, at, frame.length);
  const { body, sequences } = sections;
  if (body === undefined) throw new CommandError(40587, 'Location40587', 'OP_MSG messages must have a body');
  return { flags, body, sequences };
}

/** The sections of one message. */
class Sections {
  body: Buffer | undefined;
  readonly sequences = new Map<string, Uint8Array[]>();

  /** Reads the section at an index, and returns the index after it. */
  read(frame: Buffer, at: number, end: number): number {
    const kind = frame[at] ?? 0;
    if (kind > 1) throw new CommandError(40432, 'Location40432', `Unknown section kind ${kind}`);
    if (kind === 1) return this.#readSequence(frame, at + 1, end);
    if (this.body !== undefined) throw new CommandError(40430, 'Location40430', 'Multiple body sections in message');
    const next = at + 1 + checkDocument(frame, at + 1, end);
    this.body = frame.subarray(at + 1, next);
    return next;
  }

  #readSequence(frame: Buffer, at: number, end: number): number {
    const size = at + 4 > end ? -1 : frame.readInt32LE(at);
    const next = at + size;
    const nameEnd = frame.indexOf(0, at + 4);
    if (size < 5 || next > end || nameEnd < 0 || nameEnd >= next)
      throw new CommandError(15, 'Overflow', 'document sequence exceeds its message');
    const name = frame.toString('utf8', at + 4, nameEnd);
    if (this.sequences.has(name))
      throw new CommandError(40431, 'Location40431', `Duplicate document sequence: ${name}`);
    const documents: Uint8Array[] = [];
    for (let from = nameEnd + 1; from < next;) {
      const length = checkDocument(frame, from, next);
      documents.push(frame.subarray(from, from + length));
      from += length;
    }
    this.sequences.set(name, documents);
    return next;
  }
}

/** Header, flags and section kind of an answer whose body follows unchanged. */
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
