import { createHash } from 'node:crypto';
import type { Binary, Document, Timestamp } from 'mongodb';
import { shownName } from '../../cluster/time-series.js';
import type { Clock } from '../../async/clock.js';
import type { RawValue } from '../../bson/scan.js';
import { restoredValue, storedValue } from '../../bson/sent-value.js';
import { encodeUtf8 } from '../../bson/utf8.js';
import { timeOf, timestampOf } from '../../cluster/cluster-time.js';
import type { LastingDifferences } from '../../store/task-record.js';
import { lookupName } from '../compare/find-documents.js';
import { namedOnBothSides } from '../compare/sides.js';
import type { Difference } from './rechecks.js';
import type { CollectionToVerify } from './verification-plan.js';

/** A document that differed at the latest check. */
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
    ...namedOnBothSides(collection.namespace, shownName(collection.on.destination)),
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

/** Maximum number of re-reads of a document that differs; after that an operator must act. */
export const rereadsMax = 3;
/** This many further looks that find the same state of both sides, with nothing in flight, prove a difference. */
const unchangedMin = 3;
/** A document whose state keeps changing is handed over for a re-read after this many looks. */
const looksMax = 20;

/** History of a document that differs. */
export interface DifferenceHistory {
  /** The state of both sides at the latest look. */
  state: string;
  /** The source's time at which this state was found, or at which the document was handed over for a re-read. */
  since: bigint;
  /** Later looks that found the same state, once everything below that time was applied. */
  unchanged: number;
  /** Looks since it was found or last handed over for a re-read. */
  looks: number;
  /** How often it was handed over for a re-read. */
  rereads: number;
  /** It has differed with nothing in flight, and has not been equal since. */
  proven: boolean;
  /** Sync tasks that have not yet accepted it for a re-read. */
  waiting: readonly string[];
}

/** What another look at a document finds. */
export interface LookResult {
  state: string;
  /** The source's current time. */
  sourceTime: bigint;
  /** Time of the source below which all sync tasks have applied everything. */
  applied: bigint;
  /** The sync tasks that receive documents to re-read; none while nothing is to be re-read. */
  rereadTasks: readonly string[];
}

/** A new difference: the next look records its state. */
export const newDifference: DifferenceHistory = {
  state: '',
  since: 0n,
  unchanged: 0,
  looks: 0,
  rereads: 0,
  proven: false,
  waiting: [],
};

/** The history of a document that still differs at another look. */
export function nextHistory(
  before: DifferenceHistory,
  { state, sourceTime, applied, rereadTasks }: LookResult,
): DifferenceHistory {
  // A re-read that was handed over but not accepted does not count as an attempt.
  if (before.waiting.length > 0) return before;
  const isSame = before.state === state;
  const isConfirmed = isSame && applied >= before.since;
  const unchanged = isSame ? before.unchanged + Number(isConfirmed) : 0;
  const next = {
    ...before,
    state,
    since: isSame ? before.since : sourceTime,
    unchanged,
    looks: before.looks + 1,
    proven: before.proven || unchanged >= unchangedMin,
  };
  const isDue = unchanged >= unchangedMin || next.looks >= looksMax;
  if (!isDue || next.rereads >= rereadsMax || rereadTasks.length === 0) return next;
  return { ...next, since: sourceTime, unchanged: 0, looks: 0, rereads: next.rereads + 1, waiting: rereadTasks };
}

export const noLastingDifferences: LastingDifferences = { documents: 0, givenUp: 0, namespaces: [] };

/** Whether it still differs after `rereadsMax` re-reads. */
export function isGivenUp({ proven, rereads, unchanged, looks, waiting }: DifferenceHistory): boolean {
  return proven && rereads >= rereadsMax && waiting.length === 0 && (unchanged >= unchangedMin || looks >= looksMax);
}

export function storedHistory({ since, ...history }: DifferenceHistory): Document {
  return { ...history, since: timestampOf(since) };
}

/** @param stored undefined if an earlier release stored the mismatch */
export function restoredHistory(stored: Document | undefined): DifferenceHistory {
  if (stored === undefined) return newDifference;
  return { ...(stored as Omit<DifferenceHistory, 'since'>), since: timeOf(stored.since as Timestamp) };
}
