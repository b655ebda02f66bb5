import { Binary } from 'mongodb';
import { RawValue } from './scan.js';

/** A value as its type byte and its bytes: the only form of an `_id` that the metadata database returns unchanged. */
export function storedValue({ type, bytes }: RawValue): Binary {
  return new Binary(Buffer.concat([Buffer.from([type]), bytes]));
}

/** Restores what `storedValue` encoded. */
export function restoredValue(stored: Binary): RawValue {
  const bytes = Buffer.from(stored.value());
  return new RawValue(bytes.readUInt8(0), bytes.subarray(1));
}
