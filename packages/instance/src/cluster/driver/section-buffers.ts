/** Smallest buffer: small sections share buffers too. */
const bufferBytesMin = 256 * 1024;
/** Larger buffers, which few bulk writes need, are not pooled. */
const keptBytesMax = 4 * 2 ** 20;
/** Maximum number of pooled buffers: a section needs its buffer only until the socket has accepted it. */
const freeMax = 4;

/**
 * Reusable buffers for the statements of bulk writes. New buffers for each write would be megabytes of garbage outside
 * the heap, and V8 scans the whole heap for every 64 MB of that.
 */
export class SectionBuffers {
  readonly #free: Buffer[] = [];

  /** A buffer of at least this many bytes, with undefined content. */
  take(bytes: number): Buffer {
    const fitting = this.#free.findIndex((buffer) => buffer.length >= bytes);
    const [free] = fitting < 0 ? [] : this.#free.splice(fitting, 1);
    return free ?? Buffer.allocUnsafeSlow(Math.max(bufferBytesMin, 2 ** Math.ceil(Math.log2(bytes))));
  }

  /** Returns a buffer that is no longer read. */
  give(buffer: Buffer): void {
    if (buffer.length <= keptBytesMax && this.#free.length < freeMax) this.#free.push(buffer);
  }
}
