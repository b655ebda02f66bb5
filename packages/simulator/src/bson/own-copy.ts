/**
 * Small documents share a buffer of this size: a buffer each costs more than the copying. It lives as long as one
 * document in it.
 */
const SLAB_BYTES = 32 * 1024;
/** Documents of at least this size have a buffer of their own. */
const OWN_BUFFER_BYTES_MIN = 4 * 1024;

/** A message is not retained for its documents when they are less than this part of it, … */
const KEPT_FRACTION_MIN = 3 / 4;
/** … nor when it is larger: it lives as long as one document in it. */
const KEPT_MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

/** Messages whose documents stay in place, and the one of the latest lookup. */
const kept = new WeakSet<ArrayBufferLike>();
let keptLast: ArrayBufferLike | undefined;

let slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
let used = 0;

/**
 * Lets the documents of a message be retained without copying, if the message holds little else and nobody writes to
 * it.
 * @param message whole, as received
 */
export function keepDocuments(message: Buffer, documents: readonly Uint8Array[]): void {
  if (
    message.length < OWN_BUFFER_BYTES_MIN ||
    message.length > KEPT_MESSAGE_BYTES_MAX ||
    message.buffer.byteLength !== message.length
  )
    return;
  let bytes = 0;
  for (const document of documents) bytes += document.length;
  if (bytes >= message.length * KEPT_FRACTION_MIN) kept.add(message.buffer);
}

/**
 * A copy for long retention: it shares its memory with other retained documents only, not with messages. Documents of
 * `keepDocuments` stay where they are.
 */
export function ownCopy(bytes: Uint8Array): Uint8Array {
  const { buffer, length } = bytes;
  if (buffer === keptLast) return bytes;
  if (kept.has(buffer)) {
    keptLast = buffer;
    return bytes;
  }
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
