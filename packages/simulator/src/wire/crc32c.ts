/** The Castagnoli polynomial with its bits in reverse order (RFC 3720, appendix B.4). */
const reversedPolynomial = 0x82f63b78;
const bitsPerByte = 8;

const table = new Uint32Array(256).map((_zero, byte) => {
  let value = byte;
  for (let bit = 0; bit < bitsPerByte; bit += 1)
    value = (value & 1) === 1 ? (value >>> 1) ^ reversedPolynomial : value >>> 1;
  return value;
});

/** CRC-32C of some bytes as an unsigned number: the checksum of OP_MSG. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> bitsPerByte) ^ (table[(crc ^ byte) & 0xff] ?? 0);
  return (crc ^ 0xffffffff) >>> 0;
}
