import type { Document } from 'mongodb';

/** A copy of a document without some of its fields, in the same order. */
export function withoutFields(document: Document, ...fields: readonly string[]): Document {
  return Object.fromEntries(Object.entries(document).filter(([field]) => !fields.includes(field)));
}
