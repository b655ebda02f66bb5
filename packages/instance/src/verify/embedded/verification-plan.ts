import type { Binary, Document, Timestamp } from 'mongodb';
import type { Clock } from '../../async/clock.js';
import type { Retrying } from '../../async/retry.js';
import type { RawValue } from '../../bson/scan.js';
import { restoredValue, storedValue } from '../../bson/sent-value.js';
import type { Waits } from '../../cluster/calls-in-flight.js';
import { timeOf, timestampOf } from '../../cluster/cluster-time.js';
import type { ClusterClient, Namespace } from '../../cluster/node-client.js';
import type { VerificationStorage } from '../../store/task-storage.js';
import type { KnownTimes, Sides } from '../compare/sides.js';

/** A collection of the migration that its verifier compares. */
export interface CollectionToVerify {
  /** Identifies its comparison: a collection that is renamed or copied again is compared again. */
  key: string;
  /** Identifies its copy: the UUID, followed by the journal entry's ordinal if it was created later. */
  copy: string;
  /** Ids of the sync tasks that copy it. */
  copyTasks: readonly string[];
  /** Its name on the source, as mismatches are reported. */
  namespace: string;
  /** Where each side has it. */
  on: Sides<Namespace>;
  /** It has a collation or no `_id` index: Convoy cannot read it in the order of `_id`, and compares it in one part. */
  unordered: boolean;
  /** Servers drop its oldest documents without events. */
  capped: boolean;
  /** The query that chooses the source's documents; absent when all are migrated. */
  documentFilter?: Document | undefined;
  /** Estimates. */
  sizeBytes: number;
  documentCount: number;
  /** Index of the sync task that plans its comparison and reads its changes. */
  planner: number;
}

/** How a collection is compared: ranges of its `_id`s, assigned to sync tasks, read at these times or later. */
export interface VerificationPlan {
  bounds: readonly RawValue[];
  times: KnownTimes;
  /** Estimates at the time of planning. */
  documents: Sides<number>;
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

/** A range of a collection that this sync task compares. */
export interface VerificationPart {
  /** Its position among all parts of the collection. */
  index: number;
  /** Where its comparison continues, moved up as it is compared; null: at the beginning. */
  lower: RawValue | null;
  upper: RawValue | null;
  done: boolean;
  /** Documents compared so far. */
  source: number;
  destination: number;
}

/** The parts of a plan that one of the sync tasks compares. */
export function partsOf(
  { bounds }: VerificationPlan,
  planner: number,
  task: number,
  tasks: number,
): VerificationPart[] {
  const all = [null, ...bounds].map((lower, index): VerificationPart => ({
    index,
    lower,
    upper: bounds[index] ?? null,
    done: false,
    source: 0,
    destination: 0,
  }));
  return all.filter(({ index }) => (planner + index) % tasks === task);
}

export function storedPart({ lower, upper, ...part }: VerificationPart): Document {
  return { ...part, lower: lower && storedValue(lower), upper: upper && storedValue(upper) };
}

export function restoredPart(stored: Document): VerificationPart {
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

/** The collections that the migration follows after a number of entries of the DDL journal. */
export interface CatalogToVerify {
  ordinal: number;
  collections: readonly CollectionToVerify[];
}

/** What a verifier asks its migration. */
export interface MigrationToVerify {
  /** The collections that are currently followed; the same object while they are the same. */
  catalog(signal: AbortSignal): Promise<CatalogToVerify>;
  /** All sync tasks have copied everything that is followed: from now on comparing takes nothing from the copy. */
  readonly isCopyDone: boolean;
  /** Resolves once they have. */
  untilCopyDone(signal: AbortSignal): Promise<unknown>;
  /** Resolves once all sync tasks have planned their collections, up to a number of entries of the DDL journal. */
  untilPlanned(ordinal: number, signal: AbortSignal): Promise<unknown>;
  /** Keys of those collections that all sync tasks have copied. */
  copied(collections: readonly CollectionToVerify[], signal: AbortSignal): Promise<ReadonlySet<string>>;
  /** Time of the source below which all sync tasks have applied everything. */
  readonly appliedTime: bigint;
  /** How far applying is behind the source: reading yields to it. 0 from a commit on, which waits for verification. */
  readonly applyLag_seconds: number;
  /** The sync task applies the last changes before a commit, which waits only for that: everything else yields. */
  readonly isDraining: boolean;
  /** A commit waits for the position of the streams. */
  readonly isCommitAwaited: boolean;
  /** Splits a collection into parts: returns the `_id`s between them. */
  boundsOf(collection: CollectionToVerify, signal: AbortSignal): Promise<RawValue[]>;
}

/** Dependencies of a sync task's verifier. */
export interface VerifierDependencies {
  source: ClusterClient;
  destination: ClusterClient;
  storage: VerificationStorage;
  clock: Clock;
  /** Shows streams that stand still. */
  waits?: Waits;
  retrying: Retrying;
  migration: MigrationToVerify;
  /** The sync task's number, and how many there are. */
  task: number;
  tasks: number;
  /** Parts of collections compared at once. */
  comparers: number;
  /** Bytes of keys that wait for a check. */
  keysBytesMax: number;
}
