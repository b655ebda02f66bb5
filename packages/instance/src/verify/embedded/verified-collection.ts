import type { Binary, Document, Timestamp } from 'mongodb';
import type { RawValue } from '../../bson/scan.js';
import { restoredValue, storedValue } from '../../bson/stored-value.js';
import { timeOf, timestampOf } from '../../cluster/cluster-time.js';
import type { KnownTimes } from '../standalone/comparison-dependencies.js';

/** A collection of the migration as its verifier sees it. */
export interface VerifiedCollection {
  /** Names its comparison: a collection that comes under another name, or is copied anew, is compared anew. */
  key: string;
  /** Name of its copy, and the shares that take part in it. */
  copy: string;
  copiers: readonly string[];
  database: string;
  name: string;
  /** Its documents cannot be read in an order that is known here. */
  unordered: boolean;
  /** Servers drop its oldest documents without telling of it. */
  capped: boolean;
  /** Estimates. */
  sizeBytes: number;
  documentCount: number;
  /** Number of the share that plans its comparison and reads its changes. */
  planner: number;
}

/** How a collection is compared: parts of its `_id`s, dealt over the shares, read at these times or later. */
export interface VerificationPlan {
  bounds: readonly RawValue[];
  times: KnownTimes;
  /** Estimates of when it was made. */
  documents: { source: number; destination: number };
}

export function storedPlan({ bounds, times, documents }: VerificationPlan): Document {
  return {
    bounds: bounds.map(storedValue),
    source: timestampOf(times.source),
    destination: timestampOf(times.destination),
    documents,
  };
}

export function restoredPlan(stored: Document): VerificationPlan {
  return {
    bounds: (stored.bounds as Binary[]).map(restoredValue),
    times: { source: timeOf(stored.source as Timestamp), destination: timeOf(stored.destination as Timestamp) },
    documents: stored.documents as VerificationPlan['documents'],
  };
}

/** A range of a collection that this share compares. */
export interface VerifiedPart {
  /** Its place among all parts of the collection. */
  index: number;
  /** From where on it is still to be compared; null: from the beginning. */
  lower: RawValue | null;
  upper: RawValue | null;
  done: boolean;
  /** Documents that were compared so far. */
  source: number;
  destination: number;
}

/** The parts of a plan that one of the shares compares. */
export function partsOf({ bounds }: VerificationPlan, planner: number, task: number, tasks: number): VerifiedPart[] {
  const all = [null, ...bounds].map((lower, index): VerifiedPart => ({
    index,
    lower,
    upper: bounds[index] ?? null,
    done: false,
    source: 0,
    destination: 0,
  }));
  return all.filter(({ index }) => (planner + index) % tasks === task);
}

export function storedPart({ lower, upper, ...part }: VerifiedPart): Document {
  return { ...part, lower: lower && storedValue(lower), upper: upper && storedValue(upper) };
}

export function restoredPart(stored: Document): VerifiedPart {
  const value = (bound: unknown): RawValue | null => (bound === null ? null : restoredValue(bound as Binary));
  return {
    index: Number(stored.index),
    lower: value(stored.lower),
    upper: value(stored.upper),
    done: Boolean(stored.done),
    source: Number(stored.source),
    destination: Number(stored.destination),
  };
}
