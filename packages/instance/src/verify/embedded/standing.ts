import type { Document, Timestamp } from 'mongodb';
import { timeOf, timestampOf } from '../../cluster/cluster-time.js';
import type { LastingDifferences } from '../../store/task-record.js';

/** A document that differs is read anew so often, until it is left to people. */
export const rereadsMax = 3;
/** Found so often in one state of both sides, with nothing on its way, a document differs for good. */
const unchangedMin = 3;
/** A document that is written to all the time has no state that lasts: it is read anew when it has differed at so many looks. */
const looksMax = 20;

/** How a document that differs stands. */
export interface Standing {
  /** The state of both sides when it was looked at last. */
  state: string;
  /** The source's time at which this state was found. */
  since: bigint;
  /** Later looks that found the same, once everything up to then was applied. */
  unchanged: number;
  /** Looks since it was found, or given to be read anew. */
  looks: number;
  /** How often it was given to be read anew. */
  rereads: number;
  /** It has differed with nothing on its way, and has not agreed since. */
  proven: boolean;
  /** Shares that have not taken it yet to read it anew. */
  waiting: readonly string[];
}

/** What is known when a document is looked at once more. */
export interface LookedAgain {
  state: string;
  /** The source's time now, and the time up to which all shares have applied everything. */
  present: bigint;
  applied: bigint;
  /** Who is given what is to be read anew; none while nothing is to be. */
  repairers: readonly string[];
}

/** A difference that was found just now: the next look takes its state. */
export const foundStanding: Standing = {
  state: '',
  since: 0n,
  unchanged: 0,
  looks: 0,
  rereads: 0,
  proven: false,
  waiting: [],
};

/** How a document stands that differs still. */
export function nextStanding(before: Standing, { state, present, applied, repairers }: LookedAgain): Standing {
  // What was given to be read anew, and was not taken, has had no chance.
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

/** Whether reading it anew has not helped. */
export function isGivenUp({ proven, rereads, unchanged, looks, waiting }: Standing): boolean {
  return proven && rereads >= rereadsMax && waiting.length === 0 && (unchanged >= unchangedMin || looks >= looksMax);
}

export function storedStanding({ since, ...standing }: Standing): Document {
  return { ...standing, since: timestampOf(since) };
}

/** @param stored undefined where an earlier release has stored the mismatch */
export function restoredStanding(stored: Document | undefined): Standing {
  if (stored === undefined) return foundStanding;
  return { ...(stored as Omit<Standing, 'since'>), since: timeOf(stored.since as Timestamp) };
}
