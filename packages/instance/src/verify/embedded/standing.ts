import type { Document, Timestamp } from 'mongodb';
import { timeOf, timestampOf } from '../../cluster/cluster-time.js';
import type { LastingDifferences } from '../../store/task-record.js';

/** Maximum number of re-reads of a document that differs; after that an operator must act. */
export const rereadsMax = 3;
/** A document found this often in one state of both sides, with nothing in flight, differs permanently. */
const unchangedMin = 3;
/** A document that is written all the time has no lasting state: it is re-read once it differed at this many checks. */
const looksMax = 20;

/** History of a document that differs. */
export interface Standing {
  /** The state of both sides at the last check. */
  state: string;
  /** The source's time at which this state was found. */
  since: bigint;
  /** Later checks that found the same state, once everything up to that time was applied. */
  unchanged: number;
  /** Checks since it was found or last handed over for a re-read. */
  looks: number;
  /** How often it was handed over for a re-read. */
  rereads: number;
  /** It has differed with nothing in flight, and has not been equal since. */
  proven: boolean;
  /** Sync tasks that have not yet accepted it for a re-read. */
  waiting: readonly string[];
}

/** What is known when a document is checked once more. */
export interface LookedAgain {
  state: string;
  /** The source's current time, and the time up to which all sync tasks have applied everything. */
  present: bigint;
  applied: bigint;
  /** The sync tasks that receive documents to re-read; none while nothing is to be re-read. */
  repairers: readonly string[];
}

/** A new difference: the next check records its state. */
export const foundStanding: Standing = {
  state: '',
  since: 0n,
  unchanged: 0,
  looks: 0,
  rereads: 0,
  proven: false,
  waiting: [],
};

/** The new standing of a document that still differs. */
export function nextStanding(before: Standing, { state, present, applied, repairers }: LookedAgain): Standing {
  // A re-read that was handed over but not accepted does not count as an attempt.
  if (before.waiting.length > 0) return before;
  const isSame = before.state === state;
  const counts = isSame && applied >= before.since;
  const unchanged = isSame ? before.unchanged + Number(counts) : 0;
  const next = {
    ...before,
    state,
    since: isSame ? before.since : present,
    unchanged,
    looks: before.looks + 1,
    proven: before.proven || unchanged >= unchangedMin,
  };
  const isDue = unchanged >= unchangedMin || next.looks >= looksMax;
  if (!isDue || next.rereads >= rereadsMax || repairers.length === 0) return next;
  return { ...next, since: present, unchanged: 0, looks: 0, rereads: next.rereads + 1, waiting: repairers };
}

export const noLastingDifferences: LastingDifferences = { documents: 0, givenUp: 0, namespaces: [] };

/** Whether re-reading did not help. */
export function isGivenUp({ proven, rereads, unchanged, looks, waiting }: Standing): boolean {
  return proven && rereads >= rereadsMax && waiting.length === 0 && (unchanged >= unchangedMin || looks >= looksMax);
}

export function storedStanding({ since, ...standing }: Standing): Document {
  return { ...standing, since: timestampOf(since) };
}

/** @param stored undefined if an earlier release stored the mismatch */
export function restoredStanding(stored: Document | undefined): Standing {
  if (stored === undefined) return foundStanding;
  return { ...(stored as Omit<Standing, 'since'>), since: timeOf(stored.since as Timestamp) };
}
