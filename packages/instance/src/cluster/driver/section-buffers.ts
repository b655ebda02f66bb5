/** Smallest buffer that is made: small sections share them too. */
const bufferBytesMin = 256 * 1024;
/** Larger buffers, which few bulk writes need, are not kept. */
const keptBytesMax = 4 * 2 ** 20;
/** Free buffers that are kept at most: a section needs its buffer only until the socket has taken it. */
const freeMax = 4;

/**
 * Buffers for the statements of bulk writes, used again and again. New ones for each write would be megabytes of garbage
 * outside of the heap, and V8 looks through the whole heap for every 64 MB of that.
 */
export class SectionBuffers {
  readonly #free: Buffer[] = [];

  /** A buffer of at least so many bytes; what they hold is undefined. */
  take(bytes: number): Buffer {
    const fitting = this.#free.findIndex((buffer) => buffer.length >= bytes);
    const [free] = fitting < 0 ? [] : this.#free.splice(fitting, 1);
    return free ?? Buffer.allocUnsafeSlow(Math.max(bufferBytesMin, 2 ** Math.ceil(Math.log2(bytes))));
  }

  /** Takes a buffer back that nobody reads from any more. */
  give(buffer: Buffer): void {
    if (buffer.length <= keptBytesMax && this.#free.length < freeMax) this.#free.push(buffer);
  }
}
