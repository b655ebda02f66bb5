import { BSON, type Document } from 'mongodb';
import type { Chunk, KeyPattern } from '../../../src/catalog/namespace.js';
import { decodeIndex } from '../../../src/catalog/catalog-bytes.js';

/** A key in the form that catalog readers return. */
export function keyPattern(fields: Document): KeyPattern {
  return new Map<string, unknown>(Object.entries(fields));
}

/** An index specification, decoded as from `listIndexes`. */
export function indexAsRead(index: Document): Document {
  return decodeIndex(BSON.serialize(index));
}

/** A chunk with its bounds as bytes. */
export function chunkOf(min: Document, max: Document, shard: string): Chunk {
  return { min: BSON.serialize(min), max: BSON.serialize(max), shard };
}

/** Bounds in readable form. */
export function boundsOf<Range extends { min: Uint8Array; max: Uint8Array }>(
  range: Range,
): Omit<Range, 'min' | 'max'> & { min: Document; max: Document } {
  const decoded = (bytes: Uint8Array): Document => BSON.deserialize(bytes, { promoteLongs: false });
  return { ...range, min: decoded(range.min), max: decoded(range.max) };
}
