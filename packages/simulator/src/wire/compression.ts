import { deflateSync, inflateSync } from 'node:zlib';
import { headerBytes, messageBytesMax, opCode, ProtocolError, readHeader } from './protocol.js';

/** One way to compress messages (manual: "MongoDB Wire Protocol", OP_COMPRESSED). */
interface Compressor {
  readonly id: number;
  compress(content: Buffer): Buffer;
  /** Throws when the bytes are malformed or would become longer than `bytesMax`. */
  uncompress(packed: Buffer, bytesMax: number): Buffer;
}

const compressors: ReadonlyMap<string, Compressor> = new Map<string, Compressor>([
  [
    'zlib',
    {
      id: 2,
      compress: (content) => deflateSync(content),
      uncompress: (packed, bytesMax) => inflateSync(packed, { maxOutputLength: Math.max(1, bytesMax) }),
    },
  ],
]);

const byId: ReadonlyMap<number, Compressor> = new Map(
  [...compressors.values()].map((compressor) => [compressor.id, compressor]),
);
/** Original operation, length of the content, compressor. */
const compressedFieldsBytes = 9;

/** The client's compressors that the server has too, in the client's order. */
export function agreedCompressors(offered: readonly unknown[]): string[] {
  return offered.filter((name): name is string => typeof name === 'string' && compressors.has(name));
}

/** A message, and the compressor it came with. */
interface UnpackedFrame {
  readonly frame: Buffer;
  /** Number of the compressor for the answer. Undefined for plain messages. */
  readonly compressorId: number | undefined;
}

/**
 * Unpacks an OP_COMPRESSED. Any other message is returned unchanged.
 * @throws ProtocolError for unknown compressors and for content that differs from its header
 */
export function unpackFrame(frame: Buffer): UnpackedFrame {
  if (readHeader(frame).opCode !== opCode.compressed) return { frame, compressorId: undefined };
  if (frame.length < headerBytes + compressedFieldsBytes) throw new ProtocolError('compressed message is too short');
  const length = frame.readInt32LE(headerBytes + 4);
  const compressorId = frame.readUInt8(headerBytes + 8);
  const compressor = byId.get(compressorId);
  if (compressor === undefined) throw new ProtocolError('compression algorithm specified in message is not available');
  if (length < 0 || length > messageBytesMax - headerBytes)
    throw new ProtocolError(`compressed message of ${length} bytes`);
  const content = uncompress(compressor, frame.subarray(headerBytes + compressedFieldsBytes), length);
  const whole = Buffer.allocUnsafe(headerBytes + length);
  frame.copy(whole, 4, 4, 12);
  whole.writeInt32LE(whole.length, 0);
  whole.writeInt32LE(frame.readInt32LE(headerBytes), 12);
  content.copy(whole, headerBytes);
  return { frame: whole, compressorId };
}

function uncompress(compressor: Compressor, packed: Buffer, length: number): Buffer {
  let content: Buffer;
  try {
    content = compressor.uncompress(packed, length);
  } catch (error) {
    throw new ProtocolError(
      `compressed message is malformed: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  if (content.length !== length) throw new ProtocolError('compressed message has another length than announced');
  return content;
}

/** Packs a whole message as OP_COMPRESSED. */
export function packFrame(frame: Buffer, compressorId: number): Buffer {
  const compressor = byId.get(compressorId);
  if (compressor === undefined) return frame;
  const content = compressor.compress(frame.subarray(headerBytes));
  const packed = Buffer.allocUnsafe(headerBytes + compressedFieldsBytes);
  packed.writeInt32LE(packed.length + content.length, 0);
  frame.copy(packed, 4, 4, 12);
  packed.writeInt32LE(opCode.compressed, 12);
  packed.writeInt32LE(frame.readInt32LE(12), headerBytes);
  packed.writeInt32LE(frame.length - headerBytes, headerBytes + 4);
  packed.writeUInt8(compressorId, headerBytes + 8);
  return Buffer.concat([packed, content]);
}
