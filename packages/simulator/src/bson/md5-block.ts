/** Longest input that fits into one block of MD5 with its padding. */
export const md5BlockBytesMax = 55;

/** Bits each step of a round is rotated by (RFC 1321). */
const rotations = Uint8Array.from(
  [
    [7, 12, 17, 22],
    [5, 9, 14, 20],
    [4, 11, 16, 23],
    [6, 10, 15, 21],
  ].flatMap((round) => [...round, ...round, ...round, ...round]),
);
/** Constants of the steps: the fractions of the sines (RFC 1321). */
const sines = Int32Array.from({ length: 64 }, (_, step) => Math.floor(Math.abs(Math.sin(step + 1)) * 2 ** 32) | 0);
/** Which word of the block each step takes. */
const wordOfStep = Uint8Array.from(
  { length: 64 },
  (_, step) => ([step, 5 * step + 1, 3 * step + 5, 7 * step][step >> 4] ?? 0) & 15,
);
const words = new Int32Array(16);

/**
 * The first 8 bytes of the MD5 of a short input, as two little-endian halves. Node's own function takes ten times as
 * long for such inputs, and every document needs the hash of its shard key.
 * @param input at most `md5BlockBytesMax` bytes
 */
export function md5Halves(input: Uint8Array): { low: number; high: number } {
  words.fill(0);
  for (let at = 0; at < input.length; at += 1)
    words[at >> 2] = (words[at >> 2] ?? 0) | ((input[at] ?? 0) << ((at & 3) * 8));
  words[input.length >> 2] = (words[input.length >> 2] ?? 0) | (0x80 << ((input.length & 3) * 8));
  words[14] = input.length * 8;
  return digest();
}

/** The same of four little-endian words. */
export function md5HalvesOfWords(
  first: number,
  second: number,
  third: number,
  fourth: number,
): { low: number; high: number } {
  words.fill(0);
  words[0] = first;
  words[1] = second;
  words[2] = third;
  words[3] = fourth;
  words[4] = 0x80;
  words[14] = 128;
  return digest();
}

function digest(): { low: number; high: number } {
  let a = 0x67452301;
  let b = 0xefcdab89 | 0;
  let c = 0x98badcfe | 0;
  let d = 0x10325476;
  for (let step = 0; step < 64; step += 1) {
    const mixed =
      step < 16 ? (b & c) | (~b & d) : step < 32 ? (d & b) | (~d & c) : step < 48 ? b ^ c ^ d : c ^ (b | ~d);
    const sum = (a + mixed + (sines[step] as number) + (words[wordOfStep[step] as number] as number)) | 0;
    const bits = rotations[step] as number;
    a = d;
    d = c;
    c = b;
    b = (b + ((sum << bits) | (sum >>> (32 - bits)))) | 0;
  }
  return { low: (a + 0x67452301) | 0, high: (b + (0xefcdab89 | 0)) | 0 };
}
