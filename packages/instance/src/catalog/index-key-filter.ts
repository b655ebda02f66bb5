import type { Document } from 'mongodb';

/**
 * Matches the documents with one key of an index without a collation. No value of the key is read as a condition.
 * @param keyValue the key as the server reports it, by the paths of the index; undefined also stands for empty arrays
 * @param partial which documents are in the index, if not all
 */
export function indexKeyFilter(keyValue: Document, partial?: Document): Document {
  const fields = Object.entries(keyValue).map(([path, value]) => fieldFilter(path, value));
  return { $and: partial === undefined ? fields : [...fields, partial] };
}

/** No query may contain undefined, and before 8.0 null also matches it (SERVER-81378). */
function fieldFilter(path: string, value: unknown): Document {
  const isUndefined = { [path]: { $type: 'undefined' } };
  if (value === undefined) return { $or: [isUndefined, { [path]: { $size: 0 } }] };
  return { [path]: value === null ? { $eq: null, $not: isUndefined[path] } : { $eq: value } };
}
