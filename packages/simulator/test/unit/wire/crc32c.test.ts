import { expect, it } from 'vitest';
import { crc32c } from '../../../src/wire/crc32c.js';

it.each([
  ['nothing', Buffer.alloc(0), 0],
  ['the check value of the algorithm', Buffer.from('123456789'), 0xe3069283],
  ['32 zeros (RFC 3720, appendix B.4)', Buffer.alloc(32), 0x8a9136aa],
  ['32 times 0xff (RFC 3720, appendix B.4)', Buffer.alloc(32, 0xff), 0x62a8ab43],
])('CRC-32C of %s', (_name, bytes, checksum) => {
  expect(crc32c(bytes)).toBe(checksum);
});
