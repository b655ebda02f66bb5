import { deflateSync, inflateSync } from 'node:zlib';
import { headerBytes, messageBytesMax, opCode, ProtocolError, readHeader } from './protocol.js';

/** The one compressor that is offered in the handshake. */
export const compressorName = 'zlib';
const zlibId = 2;
const compressedFieldsBytes = 9;

/**
 * Unpacks an OP_COMPRESSED; any other message is given back as it is.
 * @throws ProtocolError for compressors that were not agreed on and lengths that do not hold
 */
export function unpackFrame(frame: Buffer): Buffer {
  if (readHeader(frame).opCode !== opCode.compressed) return frame;
  const length = frame.readInt32LE(headerBytes + 4);
  if (frame.readUInt8(headerBytes + 8) !== zlibId) throw new ProtocolError('compressor was not agreed on');
  if (length < 0 || length > messageBytesMax) throw new ProtocolError(`compressed message of ${length} bytes`);
  const content = inflateSync(frame.subarray(headerBytes + compressedFieldsBytes), { maxOutputLength: Math.max(1, length) });
  const header = Buffer.from(frame.subarray(0, headerBytes));
  header.writeInt32LE(headerBytes + content.length, 0);
  header.writeInt32LE(frame.readInt32LE(headerBytes), 12);
  return Buffer.concat([header, content]);
}

/** Packs a whole message as OP_COMPRESSED with zlib. */
export function packFrame(frame: Buffer): Buffer {
  const content = deflateSync(frame.subarray(headerBytes));
  const packed = Buffer.allocUnsafe(headerBytes + compressedFieldsBytes);
  packed.writeInt32LE(packed.length + content.length, 0);
  frame.copy(packed, 4, 4, 12);
  packed.writeInt32LE(opCode.compressed, 12);
  packed.writeInt32LE(frame.readInt32LE(12), headerBytes);
  packed.writeInt32LE(frame.length - headerBytes, headerBytes + 4);
  packed.writeUInt8(zlibId, headerBytes + 8);
  return Buffer.concat([packed, content]);
}
