import { headerBytes, messageBytesMax, ProtocolError } from './protocol.js';

/**
 * Cuts the bytes of a connection into whole messages. Each message is copied once, into a buffer of its own. Memory is
 * bounded by the received bytes, whatever length a message announces.
 */
export class FrameSplitter {
  /** The received part of the incomplete message. */
  #parts: Buffer[] = [];
  #partsBytes = 0;
  /** Length of that message, once its first four bytes have arrived. */
  #length: number | undefined;

  /**
   * @param chunk bytes as received
   * @returns the complete messages, header included
   * @throws ProtocolError when a message is longer than `messageBytesMax` or shorter than a header
   */
  push(chunk: Buffer): Buffer[] {
    const frames: Buffer[] = [];
    let offset = 0;
    while (offset < chunk.length) {
      const wanted = this.#length ?? 4;
      const end = Math.min(chunk.length, offset + wanted - this.#partsBytes);
      this.#parts.push(chunk.subarray(offset, end));
      this.#partsBytes += end - offset;
      offset = end;
      if (this.#partsBytes < wanted) break;
      if (this.#length === undefined) this.#readLength();
      else frames.push(this.#takeFrame(this.#length));
    }
    return frames;
  }

  #readLength(): void {
    const length = this.#joined(4).readInt32LE(0);
    if (length < headerBytes || length > messageBytesMax) throw new ProtocolError(`message of ${length} bytes`);
    this.#length = length;
  }

  #takeFrame(length: number): Buffer {
    const frame = Buffer.concat(this.#parts, length);
    this.#parts = [];
    this.#partsBytes = 0;
    this.#length = undefined;
    return frame;
  }

  #joined(bytes: number): Buffer {
    const [first] = this.#parts;
    return first !== undefined && first.length >= bytes ? first : Buffer.concat(this.#parts);
  }
}
