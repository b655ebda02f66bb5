import type { RawValue } from '../../bson/scan.js';
import type { Clock } from '../../async/clock.js';
import type { Waits } from '../../cluster/calls-in-flight.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { VerificationStorage } from '../../store/verification-storage.js';
import type { Retrying } from '../../async/retry.js';
import type { CollectionToVerify } from './verification-plan.js';

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
  /** Keys of those collections that all sync tasks have copied. */
  copied(collections: readonly CollectionToVerify[], signal: AbortSignal): Promise<ReadonlySet<string>>;
  /** Time of the source below which all sync tasks have applied everything. */
  readonly appliedTime: bigint;
  /** Applying has fallen behind: reading documents waits for it. */
  readonly isApplyBehind: boolean;
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
