import type { Document } from 'mongodb';
import type { NodeClient } from '../../cluster/node-client.js';
import type { BuildsUnderWay } from './builds-under-way.js';
import type { CollectionPlan } from '../plan/destination-plan.js';
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
  /** Shows the builds that are waited for. */
  builds?: BuildsUnderWay | undefined;
  /** Absent while no document of the destination is outdated. */
  mayPass?: MayPass | undefined;
}

/** Records that an index is skipped. @throws what ends the migration instead */
export type SkipIndex = (skipped: SkippedIndex, signal: AbortSignal) => Promise<void>;

/** Whether a document that has just refused an index may be outdated, so that a later build may succeed. */
export type MayPass = (plan: CollectionPlan, index: Document) => boolean;
