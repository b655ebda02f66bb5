import { BSON } from 'mongodb';
import type { Document } from 'mongodb';

/**
 * A text that is the same for documents that mean the same in a catalog: fields of the top level in order of name
 * (servers list options and index attributes in different orders), everything below as it stands, numbers by value at
 * every level outside of validators, pipelines and partial filters, which keep their types.
 */
export function canonicalText(document: Document): string {
  const sorted = Object.entries(document).sort(([a], [b]) => (a < b ? -1 : 1));
  return Buffer.from(BSON.serialize(new Map(sorted))).toString('base64');
}

/** Whether two catalog documents mean the same. */
export function sameDocument(a: Document, b: Document): boolean {
  return canonicalText(a) === canonicalText(b);
}
