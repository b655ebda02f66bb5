import { BSON, type Document } from 'mongodb';

/**
 * A text that is equal for documents that mean the same in a catalog. Top-level fields are sorted by name, because
 * servers list options and index attributes in different orders; nested fields keep their order. Numbers count by
 * value, except in validators, pipelines and partial filters, where they keep their types.
 */
export function canonicalText(document: Document): string {
  const sorted = Object.entries(document).sort(([a], [b]) => (a < b ? -1 : 1));
  return Buffer.from(BSON.serialize(new Map(sorted))).toString('base64');
}

/** Whether two catalog documents mean the same. */
export function sameDocument(a: Document, b: Document): boolean {
  return canonicalText(a) === canonicalText(b);
}

/** A copy of a document without some of its fields, in the same order. */
export function withoutFields(document: Document, ...fields: readonly string[]): Document {
  return Object.fromEntries(Object.entries(document).filter(([field]) => !fields.includes(field)));
}
