/** Small documents share a buffer of this size: one of their own costs more than the copying. It lives as long as one document in it. */
const SLAB_BYTES = 32 * 1024;
/** Documents from here on have a buffer of their own. */
const OWN_BUFFER_BYTES_MIN = 4 * 1024;

let slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
let used = 0;

/** A copy that may be kept for long: it shares its memory with other kept documents alone, not with messages. */
export function ownCopy(bytes: Uint8Array): Buffer {
  const { length } = bytes;
  if (length >= OWN_BUFFER_BYTES_MIN) {
    const own = Buffer.allocUnsafeSlow(length);
    own.set(bytes);
    return own;
  }
  if (used + length > SLAB_BYTES) {
    slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
    used = 0;
  }
  slab.set(bytes, used);
  used += length;
  return slab.subarray(used - length, used);
}
