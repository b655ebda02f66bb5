import type { Document } from 'mongodb';
import { isCondition } from '../bson/condition.js';
import { isLossless, losslessValue } from '../bson/lossless.js';
import type { RawValue } from '../bson/scan.js';

/**
 * Matches the documents of some `_id`s, and all documents with the type of an `_id` that cannot be sent. `$in` takes no
 * `_id` that a server reads as a condition.
 */
export function idFilter(ids: readonly RawValue[]): Document {
  const sent = ids.filter(isLossless);
  const types = new Set(ids.filter((id) => !isLossless(id)).map(({ type }) => type));
  const listed = { _id: { $in: sent.filter((id) => !isCondition(id)).map(losslessValue) } };
  const others = [
    ...sent.filter(isCondition).map((id) => ({ _id: { $eq: losslessValue(id) } })),
    ...(types.size === 0 ? [] : [{ _id: { $type: [...types] } }]),
  ];
  return others.length === 0 ? listed : { $or: [listed, ...others] };
}
