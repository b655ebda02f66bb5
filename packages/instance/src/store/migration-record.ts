import type { StartRequest } from '@convoy/api/contract/start-request';
import { optionsDifference, optionsDigest } from '@convoy/api/contract/options-digest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ErrorName } from '@convoy/api/errors/table';
import type { Document, Timestamp } from 'mongodb';
import type { Metadata } from './metadata.js';

/** The migration as a whole, from the first start on. Phases only go forward. */
export const migrationPhases = ['starting', 'syncing', 'committing', 'opening', 'committed'] as const;
export type MigrationPhase = (typeof migrationPhases)[number];

/** One commit attempt: all shares drain past `time`. A new round has a later time. */
export interface CommitRound {
  round: number;
  time: Timestamp;
  /** True once every share was seen drained with nothing above `time`: no further round follows. */
  sealed: boolean;
}

/** The one document of the collection `migration`. */
export interface MigrationRecord {
  release: string;
  options: StartRequest;
  digest: string;
  source: { name: string; clusterId: string };
  destination: { name: string; clusterId: string };
  /** How all instances read the source: straight from its shards, or through its routers. */
  access: 'direct' | 'router';
  /** The source's shards: each stands for a share, which is synced by exactly one instance. */
  shareIds: string[];
  phase: MigrationPhase;
  failure: { error: ErrorName; errorDescription: string } | null;
  leaderEpoch: number;
  /** Epoch of the leader that has initialised: the stored collections of this epoch are the migration's. */
  catalogEpoch: number | null;
  startTime: Timestamp | null;
  estimatedTotalBytes: number | null;
  commit: CommitRound | null;
  canWrite: boolean;
  /** What the balancers were before Convoy stopped them; null until it did. */
  balancers: { source: boolean; destination: boolean } | null;
  /** Preflight's and initialisation's remarks for the operator. */
  warnings: { name: string; description: string }[];
}

const recordId = 'migration';

/** What a new migration's record is made of. */
export type NewMigration = Pick<MigrationRecord, 'release' | 'options' | 'source' | 'destination' | 'access' | 'shareIds' | 'warnings'>;

/** Reads and writes of the migration record. Leader writes carry the leader's epoch; a write of an old one is refused. */
export class MigrationRecords {
  constructor(private readonly metadata: Metadata) {}

  async read(signal: AbortSignal): Promise<MigrationRecord | null> {
    return (await this.metadata.findOne('migration', { _id: recordId }, signal)) as MigrationRecord | null;
  }

  /**
   * Records the migration, or joins the one that is recorded.
   * @throws ConvoyError `optionsDiffer` (naming the options), `migrationExists`
   */
  async begin(migration: NewMigration, signal: AbortSignal): Promise<MigrationRecord> {
    const digest = optionsDigest(migration.options);
    const fresh: Omit<MigrationRecord, 'options'> & { options: Document } = {
      ...migration,
      digest,
      phase: 'starting',
      failure: null,
      leaderEpoch: 0,
      catalogEpoch: null,
      startTime: null,
      estimatedTotalBytes: null,
      commit: null,
      canWrite: false,
      balancers: null,
    };
    const stored = (await this.metadata.findAndUpdate(
      'migration',
      { _id: recordId },
      { $setOnInsert: fresh },
      signal,
      { upsert: true },
    )) as MigrationRecord | null;
    if (stored === null) throw new ConvoyError('internalError', 'The migration record could not be written.');
    refuseOtherMigration(stored, migration, digest);
    return stored;
  }

  /** Mints the next leader epoch. From then on writes under an earlier one are refused. */
  async takeLeaderEpoch(signal: AbortSignal): Promise<number> {
    const stored = await this.metadata.findAndUpdate('migration', { _id: recordId }, { $inc: { leaderEpoch: 1 } }, signal);
    if (stored === null) throw new ConvoyError('internalError', 'There is no migration to lead.');
    return Number(stored.leaderEpoch);
  }

  /** @throws ConvoyError `staleEpoch` when another leader has taken over */
  async updateAsLeader(leaderEpoch: number, set: Partial<MigrationRecord>, signal: AbortSignal): Promise<void> {
    const written = await this.metadata.updateOne('migration', { _id: recordId, leaderEpoch }, { $set: set }, signal);
    if (!written) throw new ConvoyError('staleEpoch', 'Another instance has become the coordinator instance.');
  }

  /**
   * Decides between *failed* and *opening*: only while the migration has not failed may it move on.
   * Returns false when it had failed before.
   */
  async openAsLeader(leaderEpoch: number, signal: AbortSignal): Promise<boolean> {
    return this.metadata.updateOne(
      'migration',
      { _id: recordId, leaderEpoch, failure: null },
      { $set: { phase: 'opening' } },
      signal,
    );
  }

  /** Records the first failure; later ones, and any after the decision to open, change nothing. */
  async fail(failure: { error: ErrorName; errorDescription: string }, signal: AbortSignal): Promise<void> {
    const undecided = { _id: recordId, failure: null, phase: { $in: ['starting', 'syncing', 'committing'] } };
    await this.metadata.updateOne('migration', undecided, { $set: { failure } }, signal);
  }
}

function refuseOtherMigration(stored: MigrationRecord, wanted: NewMigration, digest: string): void {
  if (stored.digest !== digest) {
    const names = optionsDifference(stored.options, wanted.options);
    throw new ConvoyError('optionsDiffer', `The migration was started with other values of: ${names.join(', ')}. Start this instance with the same options.`);
  }
  const sameClusters =
    stored.source.clusterId === wanted.source.clusterId && stored.destination.clusterId === wanted.destination.clusterId;
  if (!sameClusters) throw new ConvoyError('migrationExists');
  if (stored.access !== wanted.access) {
    throw new ConvoyError('optionsDiffer', `The migration reads its source ${stored.access === 'direct' ? 'straight from the shards' : 'through the router'}; give this instance the same sourceAccess, or start it again.`);
  }
}
