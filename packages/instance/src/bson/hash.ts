import { createHash, type Hash } from 'node:crypto';
import { canonicalType, elementType } from './element-type.js';
import { integerForHash } from './number.js';
import { elementsOf, int32At, rawValue, type RawValue } from './scan.js';

/** The seed of all hashed indexes. */
const seed = int32Bytes(0);
/** What the server hashes at the end of a document: type 0 with an empty name. */
const endOfDocument = int32Bytes(0);

/**
 * The hash of a hashed shard key or index: MD5 over types and values, its first 8 bytes as an integer.
 * Numbers are hashed as 64-bit integers whatever their type.
 */
export function hashValue(value: RawValue): bigint {
  const hash = createHash('md5').update(seed);
  addValue(hash, value, null);
  return hash.digest().readBigInt64LE(0);
}

function addValue(hash: Hash, value: RawValue, name: string | null): void {
  hash.update(int32Bytes(canonicalType(value.type)));
  if (name !== null) hash.update(`${name}\0`);
  switch (value.type) {
    case elementType.int32:
    case elementType.long:
    case elementType.double:
    case elementType.decimal:
      hash.update(longBytes(integerForHash(value)));
      return;
    case elementType.document:
    case elementType.array:
      addFields(hash, value.bytes);
      return;
    case elementType.codeWithScope: {
      const scope = 8 + int32At(value.bytes, 4);
      hash.update(value.bytes.subarray(8, scope));
      addFields(hash, value.bytes.subarray(scope));
      return;
    }
    default:
      hash.update(value.bytes);
  }
}

function addFields(hash: Hash, bytes: Uint8Array): void {
  for (const element of elementsOf(bytes)) addValue(hash, rawValue(bytes, element), element.name);
  hash.update(endOfDocument);
}

function int32Bytes(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeInt32LE(value, 0);
  return bytes;
}

function longBytes(value: bigint): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigInt64LE(value, 0);
  return bytes;
}
