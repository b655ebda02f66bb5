import { elementType } from '../bson/element-type.js';
import { findElement, readDocument } from '../bson/scan.js';

/** The bytes of an embedded document; null if there is none of the name. */
export function documentElement(bytes: Uint8Array, name: string): Uint8Array | null {
  const element = findElement(bytes, name);
  return element?.type === elementType.document ? Buffer.from(readDocument(bytes, element)) : null;
}
