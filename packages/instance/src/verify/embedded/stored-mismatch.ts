import { createHash } from 'node:crypto';
import type { Binary, Document } from 'mongodb';
import { namespaceOf } from '../../catalog/namespace.js';
import type { RawValue } from '../../bson/scan.js';
import { restoredValue, storedValue } from '../../bson/sent-value.js';
import type { Clock } from '../../async/clock.js';
import { encodeUtf8 } from '../../bson/utf8.js';
import { lookupName } from '../compare/find-documents.js';
import { namedOnBothSides } from '../compare/named-on-both-sides.js';
import type { Difference } from './look.js';
import { type DifferenceHistory, newDifference, restoredHistory, storedHistory } from './difference-history.js';
import type { CollectionToVerify } from './verification-plan.js';

/** A document that differed at the last check. */
export interface StoredMismatch {
  /** The collection's name in the sync task. */
  name: string;
  key: string;
  id: RawValue;
  firstSeen: Date;
  looks: number;
  /** Entries of the DDL journal at which its collection was followed. */
  ordinal: number;
  history: DifferenceHistory;
}

/** When a mismatch was seen, how often, and what is known of it. */
interface Seen extends Pick<StoredMismatch, 'looks' | 'ordinal' | 'history'> {
  first: Date;
  last: Date;
}

/** A mismatch that is seen now for the first time. */
export function firstSeen(clock: Pick<Clock, 'now_ms'>, ordinal: number): Seen {
  const now = new Date(clock.now_ms());
  return { first: now, last: now, looks: 1, ordinal, history: newDifference };
}

/** Its document in the metadata database. */
export function storedMismatch(
  collection: CollectionToVerify,
  id: RawValue,
  { kind, paths }: Pick<Difference, 'kind' | 'paths'>,
  { first, last, looks, ordinal, history }: Seen,
): Document & { _id: string } {
  return {
    _id: mismatchName(collection.key, id),
    key: collection.key,
    ...namedOnBothSides(collection.namespace, namespaceOf(collection.on.destination)),
    id: storedValue(id),
    kind,
    paths,
    firstSeen: first,
    lastSeen: last,
    looks,
    ordinal,
    standing: storedHistory(history),
  };
}

export function restoredMismatch(stored: Document): StoredMismatch {
  return {
    name: String(stored._id),
    key: String(stored.key),
    id: restoredValue(stored.id as Binary),
    firstSeen: stored.firstSeen as Date,
    looks: Number(stored.looks),
    ordinal: Number(stored.ordinal),
    history: restoredHistory(stored.standing as Document | undefined),
  };
}

/** One name of bounded length for all `_id`s that the `_id` index treats as equal. */
function mismatchName(key: string, id: RawValue): string {
  return `${key}/${createHash('sha256')
    .update(encodeUtf8(lookupName(id)))
    .digest('hex')}`;
}
