import { headerBytes, messageBytesMax, ProtocolError } from './protocol.js';

/** Cuts the bytes of a connection into whole messages; each message is copied once, into a buffer of its own. */
export class FrameSplitter {
  #length = Buffer.alloc(4);
  #lengthFilled = 0;
  #frame: Buffer | undefined;
  #filled = 0;

  /**
   * @param chunk bytes as they came in
   * @returns the messages that are complete now, header included
   * @throws ProtocolError when a message is longer than `messageBytesMax` or shorter than a header
   */
  push(chunk: Buffer): Buffer[] {
    const frames: Buffer[] = [];
    let offset = 0;
    while (offset < chunk.length) {
      if (this.#frame === undefined) {
        offset += this.#takeLength(chunk, offset);
        continue;
      }
      const taken = chunk.copy(this.#frame, this.#filled, offset, Math.min(chunk.length, offset + this.#frame.length - this.#filled));
      offset += taken;
      this.#filled += taken;
      if (this.#filled === this.#frame.length) {
        frames.push(this.#frame);
        this.#frame = undefined;
        this.#lengthFilled = 0;
      }
    }
    return frames;
  }

  #takeLength(chunk: Buffer, offset: number): number {
    const taken = chunk.copy(this.#length, this.#lengthFilled, offset, Math.min(chunk.length, offset + 4 - this.#lengthFilled));
    this.#lengthFilled += taken;
    if (this.#lengthFilled === 4) {
      const length = this.#length.readInt32LE(0);
      if (length < headerBytes || length > messageBytesMax) throw new ProtocolError(`message of ${length} bytes`);
      this.#frame = Buffer.allocUnsafe(length);
      this.#length.copy(this.#frame);
      this.#filled = 4;
    }
    return taken;
  }
}
