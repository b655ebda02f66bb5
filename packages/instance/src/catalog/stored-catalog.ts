import { Binary, BSON, type Document } from 'mongodb';
import type { CatalogEntry } from './namespace.js';

/**
 * An entry as one binary value, so that field names with dots and dollars and every number type survive being stored.
 * @returns what `restoredEntry` takes
 */
export function storedEntry(entry: CatalogEntry): Binary {
  return new Binary(BSON.serialize(entry, { ignoreUndefined: true }));
}

/** The entry as it was stored: plain numbers, but validators, pipelines, partial filters and chunk bounds exact. */
export function restoredEntry(stored: Binary): CatalogEntry {
  const bytes = stored.value();
  const plain = BSON.deserialize(bytes, { promoteLongs: false }) as CatalogEntry;
  const exact = BSON.deserialize(bytes, { promoteValues: false, bsonRegExp: true }) as CatalogEntry;
  for (const option of ['validator', 'pipeline', 'encryptedFields']) {
    if (plain.options[option] !== undefined) plain.options[option] = exact.options[option] as Document;
  }
  plain.indexes.forEach((index, position) => {
    if (index.partialFilterExpression === undefined) return;
    index.partialFilterExpression = exact.indexes[position]?.partialFilterExpression as Document;
  });
  return plain;
}
