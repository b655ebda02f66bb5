import type { RawValue } from '../../bson/scan.js';
import type { Clock } from '../../cluster/clock.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { VerificationStorage } from '../../store/verification-storage.js';
import type { Retrying } from '../../cluster/retry.js';
import type { VerifiedCollection } from './verified-collection.js';

/** What the migration follows: its collections, as of so many entries of the definition journal. */
export interface VerifiedCatalog {
  ordinal: number;
  collections: readonly VerifiedCollection[];
}

/** What a share's verifier works with. */
export interface VerifierDependencies {
  source: ClusterClient;
  destination: ClusterClient;
  storage: VerificationStorage;
  clock: Clock;
  retrying: Retrying;
  /** The share's number, and how many there are. */
  task: number;
  tasks: number;
  /** Bytes of keys that wait to be looked at. */
  keysBytesMax: number;
  /** The collections as they are followed now; the same object while they are the same. */
  catalog(signal: AbortSignal): Promise<VerifiedCatalog>;
  /** Those of some collections that all shares have copied. */
  copied(collections: readonly VerifiedCollection[], signal: AbortSignal): Promise<ReadonlySet<string>>;
  /** Time of the source below which all shares have applied everything. */
  appliedTime(): bigint;
  /** Applying has fallen behind: reading documents waits for it. */
  isApplyBehind(): boolean;
  /** The share applies the last changes before a commit, which waits for nothing else: whatever can be done later gives way. */
  isDraining(): boolean;
  /** A commit waits for how far the streams are. */
  isCommitAwaited(): boolean;
  /** Cuts a collection into parts: the `_id`s at which they meet. */
  boundsOf(collection: VerifiedCollection, signal: AbortSignal): Promise<RawValue[]>;
}
