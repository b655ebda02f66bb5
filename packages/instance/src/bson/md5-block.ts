/** Longest input that fits into one block of MD5 together with its padding. */
export const md5BlockBytesMax = 55;

/** How far each round's four steps rotate, and the fractions of sines that they add (RFC 1321, 3.4). */
const rotations = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
] as const;
const rotationOfStep = Uint8Array.from({ length: 64 }, (_, step) => rotations[(step >> 4) as 0][(step & 3) as 0]);
const sineOfStep = Int32Array.from({ length: 64 }, (_, step) => Math.floor(Math.abs(Math.sin(step + 1)) * 2 ** 32) | 0);
const wordOfStep = Uint8Array.from(
  { length: 64 },
  (_, step) => [step, 5 * step + 1, 3 * step + 5, 7 * step].map((word) => word & 15)[step >> 4] ?? 0,
);

const block = new Uint8Array(64);
const view = new DataView(block.buffer);

/** A 64-bit integer as two halves: JavaScript has no cheap one. */
export interface Halves {
  /** Signed. */
  high: number;
  /** Unsigned. */
  low: number;
}

const words = new Int32Array(16);

/**
 * The first 8 bytes of the MD5 of a short input, as one little-endian integer. Every document's hashed shard key needs
 * it, and for such inputs a call of the runtime's function costs several times the hashing.
 * @param input at most `md5BlockBytesMax` bytes
 */
export function md5Start(input: Uint8Array): bigint {
  block.fill(0);
  block.set(input);
  digest(input.length, halves);
  return (BigInt(halves.high) << 32n) | BigInt(halves.low);
}

/** Like `md5Start`, for the first bytes of `md5Input`. */
export function md5StartHalves(bytes: number, result: Halves): void {
  block.fill(0, bytes);
  digest(bytes, result);
}

/** The input buffer of `md5StartHalves`; only its first `md5BlockBytesMax` bytes may be used. */
export const md5Input: Uint8Array = block;

const halves: Halves = { high: 0, low: 0 };

/** Hashes the block, which holds this many bytes and zeros after them. */
function digest(bytes: number, result: Halves): void {
  block[bytes] = 0x80;
  view.setUint32(56, bytes * 8, true);
  for (let index = 0; index < 16; index += 1) words[index] = view.getInt32(index * 4, true);
  let a = 0x67452301;
  let b = 0xefcdab89 | 0;
  let c = 0x98badcfe | 0;
  let d = 0x10325476;
  for (let step = 0; step < 64; step += 1) {
    const mixed =
      step < 16 ? (b & c) | (~b & d) : step < 32 ? (d & b) | (~d & c) : step < 48 ? b ^ c ^ d : c ^ (b | ~d);
    const sum = (a + mixed + (sineOfStep[step] ?? 0) + (words[wordOfStep[step] ?? 0] ?? 0)) | 0;
    const bits = rotationOfStep[step] ?? 0;
    a = d;
    d = c;
    c = b;
    b = (b + ((sum << bits) | (sum >>> (32 - bits)))) | 0;
  }
  result.low = (a + 0x67452301) >>> 0;
  result.high = (b + 0xefcdab89) | 0;
}
