import type { Document } from 'mongodb';
import type { NodeClient } from '../../cluster/node-client.js';
import type { SkippedIndex } from '../plan/skipped-index.js';

/** The cluster on which indexes are built, and the caller's limits. */
export interface IndexBuilding {
  client: NodeClient;
  signal: AbortSignal;
  /** Called before every change: throws if another leader has taken over, so that this one changes nothing more. */
  confirm: () => Promise<void>;
  /** Command fields that identify the collection by its UUID, on servers that support it. */
  meaning?: Document;
  /** Skips an index that the destination cannot build and no shard key needs; absent: every index must be built. */
  skip?: SkipIndex | undefined;
}

/** Records that an index is skipped. @throws what ends the migration instead */
export type SkipIndex = (skipped: SkippedIndex, signal: AbortSignal) => Promise<void>;
