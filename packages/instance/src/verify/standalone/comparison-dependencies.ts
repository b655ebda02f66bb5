import type { Clock } from '../../async/clock.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { ProofRule } from '../compare/check-again.js';
import { type ComparedCollection, namesOf } from './comparison-plan.js';
import type { ComparisonState } from './comparison-state.js';
import { type Lookup, lookupsOn } from '../compare/find-documents.js';
import type { KnownTimes, Sides } from '../compare/sides.js';
import type { Retrying } from '../../async/retry.js';

/** The current phase of a comparison. */
export type ComparisonPhase = 'planning' | 'comparing' | 'checking again' | 'comparing definitions';

/** Options of a comparison. */
export interface ComparisonOptions {
  rule: ProofRule;
  /** Maximum number of later checks; a document that still differs then, and kept changing, stays undecided. */
  generationsMax: number;
  /** Partitions compared at once. */
  readers: number;
  /** Interval at which the progress of a partition is recorded. */
  record_ms: number;
  /** False: the destination intentionally has other shard keys. */
  shardKeys: boolean;
}

/** Dependencies of the parts of a comparison. */
export interface ComparisonDependencies {
  source: ClusterClient;
  destination: ClusterClient;
  state: ComparisonState;
  options: ComparisonOptions;
  clock: Clock;
  retrying: Retrying;
  /** Called when a phase starts. */
  entered: (phase: ComparisonPhase) => void;
  signal: AbortSignal;
}

/** Where both sides of a collection are looked up. */
export function lookupSides(
  deps: ComparisonDependencies,
  collection: ComparedCollection,
  times: KnownTimes,
): Sides<Lookup> {
  return lookupsOn(deps, namesOf(collection), times, deps.signal);
}
