import { deflateSync, inflateSync } from 'node:zlib';
import { headerBytes, messageBytesMax, opCode, ProtocolError, readHeader } from './protocol.js';

/** The one way to compress messages that is simulated (manual: "MongoDB Wire Protocol", OP_COMPRESSED). */
const zlib = { name: 'zlib', id: 2 } as const;
/** Original operation, length of the content, compressor. */
const compressedFieldsBytes = 9;

/** The client's compressors that the server has too, in the client's order. */
export function agreedCompressors(offered: readonly unknown[]): string[] {
  return offered.filter((name) => name === zlib.name);
}

/** A message, and whether it came compressed. */
interface UnpackedFrame {
  readonly frame: Buffer;
  readonly compressed: boolean;
}

/**
 * Unpacks an OP_COMPRESSED. Any other message is returned unchanged.
 * @throws ProtocolError for unknown compressors and for content that differs from its header
 */
export function unpackFrame(frame: Buffer): UnpackedFrame {
  if (readHeader(frame).opCode !== opCode.compressed) return { frame, compressed: false };
  if (frame.length < headerBytes + compressedFieldsBytes) throw new ProtocolError('compressed message is too short');
  const length = frame.readInt32LE(headerBytes + 4);
  if (frame.readUInt8(headerBytes + 8) !== zlib.id)
    throw new ProtocolError('compression algorithm specified in message is not available');
  if (length < 0 || length > messageBytesMax - headerBytes)
    throw new ProtocolError(`compressed message of ${length} bytes`);
  const content = uncompress(frame.subarray(headerBytes + compressedFieldsBytes), length);
  const whole = Buffer.allocUnsafe(headerBytes + length);
  frame.copy(whole, 4, 4, 12);
  whole.writeInt32LE(whole.length, 0);
  whole.writeInt32LE(frame.readInt32LE(headerBytes), 12);
  content.copy(whole, headerBytes);
  return { frame: whole, compressed: true };
}

function uncompress(packed: Buffer, length: number): Buffer {
  let content: Buffer;
  try {
    content = inflateSync(packed, { maxOutputLength: Math.max(1, length) });
  } catch (error) {
    throw new ProtocolError(
      `compressed message is malformed: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  if (content.length !== length) throw new ProtocolError('compressed message has another length than announced');
  return content;
}

/** Packs a whole message as OP_COMPRESSED. */
export function packFrame(frame: Buffer): Buffer {
  const content = deflateSync(frame.subarray(headerBytes));
  const packed = Buffer.allocUnsafe(headerBytes + compressedFieldsBytes);
  packed.writeInt32LE(packed.length + content.length, 0);
  frame.copy(packed, 4, 4, 12);
  packed.writeInt32LE(opCode.compressed, 12);
  packed.writeInt32LE(frame.readInt32LE(12), headerBytes);
  packed.writeInt32LE(frame.length - headerBytes, headerBytes + 4);
  packed.writeUInt8(zlib.id, headerBytes + 8);
  return Buffer.concat([packed, content]);
}
