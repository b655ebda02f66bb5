import type { Document } from 'mongodb';

/** The field `filter` of a `find` that returns documents matching all the given queries; no field without any. */
export function matchingAll(...queries: readonly (Document | undefined)[]): { filter?: Document } {
  const given = queries.filter((query) => query !== undefined);
  if (given.length === 0) return {};
  return { filter: given.length === 1 ? (given[0] as Document) : { $and: given } };
}
