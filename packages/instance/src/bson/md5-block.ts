/** Longest input that fits into one block of MD5 together with its padding. */
export const md5BlockBytesMax = 55;

/** How far each round's four steps rotate, and the fractions of sines that they add (RFC 1321, 3.4). */
const rotations = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]] as const;
const rotationOfStep = Uint8Array.from({ length: 64 }, (_, step) => rotations[(step >> 4) as 0][(step & 3) as 0]);
const sineOfStep = Int32Array.from({ length: 64 }, (_, step) => Math.floor(Math.abs(Math.sin(step + 1)) * 2 ** 32) | 0);
const wordOfStep = Uint8Array.from({ length: 64 }, (_, step) => [step, 5 * step + 1, 3 * step + 5, 7 * step].map((word) => word & 15)[step >> 4] ?? 0);

const block = new Uint8Array(64);
const view = new DataView(block.buffer);

/**
 * The first 8 bytes of the MD5 of a short input as one little-endian integer. A hashed shard key is hashed for every
 * document, and for such inputs a call of the runtime's function costs several times the hashing.
 * @param input at most `md5BlockBytesMax` bytes
 */
export function md5Start(input: Uint8Array): bigint {
  block.fill(0);
  block.set(input);
  block[input.length] = 0x80;
  view.setUint32(56, input.length * 8, true);
  const { first, second } = digestBlock();
  return (BigInt(second) << 32n) | BigInt(first >>> 0);
}

/** The first two words of the digest, as signed integers. */
function digestBlock(): { first: number; second: number } {
  let a = 0x67452301;
  let b = 0xefcdab89 | 0;
  let c = 0x98badcfe | 0;
  let d = 0x10325476;
  for (let step = 0; step < 64; step += 1) {
    const word = view.getInt32((wordOfStep[step] ?? 0) * 4, true);
    const sum = (a + mixed(step, b, c, d) + (sineOfStep[step] ?? 0) + word) | 0;
    const bits = rotationOfStep[step] ?? 0;
    a = d;
    d = c;
    c = b;
    b = (b + ((sum << bits) | (sum >>> (32 - bits)))) | 0;
  }
  return { first: (a + 0x67452301) | 0, second: (b + 0xefcdab89) | 0 };
}

function mixed(step: number, b: number, c: number, d: number): number {
  if (step < 16) return (b & c) | (~b & d);
  if (step < 32) return (d & b) | (~d & c);
  if (step < 48) return b ^ c ^ d;
  return c ^ (b | ~d);
}
