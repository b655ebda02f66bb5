import type { Document } from 'mongodb';
import { isLossless, losslessValue } from '../bson/lossless.js';
import type { RawValue } from '../bson/scan.js';

/** Matches the documents of some `_id`s, and all documents with the type of an `_id` that cannot be sent. */
export function idFilter(ids: readonly RawValue[]): Document {
  const byValue = { _id: { $in: ids.filter(isLossless).map(losslessValue) } };
  const types = new Set(ids.filter((id) => !isLossless(id)).map(({ type }) => type));
  return types.size === 0 ? byValue : { $or: [byValue, { _id: { $type: [...types] } }] };
}
