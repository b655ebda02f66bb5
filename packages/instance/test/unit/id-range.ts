import type { Document } from 'mongodb';
import { compareRaw } from '../../src/bson/order.js';
import { elementType } from '../../src/bson/element-type.js';
import { encodeValue, maxKey, type RawValue } from '../../src/bson/scan.js';

/**
 * Whether a find of a range shows an `_id`, as servers answer it: `min` and `max` are exclusive at MaxKey, even if only
 * one of them is given. The only filter is that for the last `_id`.
 */
export function isInRange(id: RawValue, { filter, min, max }: Document): boolean {
  if (filter !== undefined) return id.type === elementType.maxKey;
  if (min === undefined && max === undefined) return true;
  const upper = max === undefined ? maxKey : boundOf(max);
  return (min === undefined || compareRaw(id, boundOf(min)) >= 0) && compareRaw(id, upper) < 0;
}

function boundOf(bound: unknown): RawValue {
  return encodeValue((bound as { _id: unknown })._id);
}
