import { Binary, BSON } from 'mongodb';
import { elementType } from '../bson/element-type.js';
import { elementsOf, findElement, findPath, readDocument } from '../bson/scan.js';
import type { CatalogEntry } from './namespace.js';
import { withoutFields } from './without-fields.js';
import { decodeIndex, decodeKey, decodeOptions } from './read/decode-catalog.js';

/**
 * Encodes an entry as one binary value, so that field names with dots and dollars and every number type survive in the
 * store. Indexes that are being built are none of the stored catalog.
 * @returns what `restoredEntry` takes
 */
export function storedEntry(entry: CatalogEntry): Binary {
  return new Binary(BSON.serialize(withoutFields(entry, 'buildingIndexes'), { ignoreUndefined: true }));
}

/** Decodes a stored entry: plain numbers, but validators, pipelines, partial filters, keys and chunk bounds exact. */
export function restoredEntry(stored: Binary): CatalogEntry {
  const bytes = stored.value();
  const plain = BSON.deserialize(bytes) as CatalogEntry;
  decodeOptions(plain.options, embedded(bytes, 'options'));
  const indexes = embedded(bytes, 'indexes');
  plain.indexes = [...elementsOf(indexes)].map((element) => decodeIndex(readDocument(indexes, element)));
  if (plain.sharding !== null) {
    plain.sharding.key = decodeKey(embedded(bytes, 'sharding', 'key'));
    const chunks = embedded(bytes, 'sharding', 'chunks');
    const raw = [...elementsOf(chunks)].map((element) => readDocument(chunks, element));
    plain.sharding.chunks.forEach((chunk, position) => {
      for (const bound of ['min', 'max'] as const) chunk[bound] = boundIn(raw[position] ?? noDocument, bound);
    });
  }
  return plain;
}

const noDocument = BSON.serialize({});

function embedded(bytes: Uint8Array, ...path: readonly string[]): Uint8Array {
  const element = findPath(bytes, path);
  return element === null ? noDocument : readDocument(bytes, element);
}

/** A copy of the bytes. Earlier releases stored bounds as documents. */
function boundIn(chunk: Uint8Array, name: 'min' | 'max'): Uint8Array {
  const element = findElement(chunk, name);
  if (element === null) return noDocument;
  return Buffer.from(
    element.type === elementType.binary ? chunk.subarray(element.start + 5, element.end) : readDocument(chunk, element),
  );
}
