import type { StartRequest } from '@convoy/api/contract/start-request';
import { optionsDifference, optionsDigest } from '@convoy/api/contract/options-digest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ErrorName } from '@convoy/api/errors/table';
import type { Document, Timestamp } from 'mongodb';
import type { Metadata } from './metadata.js';

/** The migration as a whole, from the first start on. Phases only go forward; a reverse leads from the last one to `syncing` again. */
export const migrationPhases = ['starting', 'syncing', 'committing', 'opening', 'committed', 'reversing'] as const;
export type MigrationPhase = (typeof migrationPhases)[number];

/** One commit attempt: all shares drain past `time`. A new round has a later time. */
export interface CommitRound {
  round: number;
  time: Timestamp;
  /** True once every share was seen drained with nothing above `time`: no further round follows. */
  sealed: boolean;
  /** Epoch of the leader that has sealed: its stored catalog is the source's as it is committed. Null until then. */
  catalogEpoch: number | null;
}

/** What a reversible migration records about its two directions. */
export interface Reversal {
  /** How many times source and destination have been swapped. */
  turns: number;
  /** The shards of the present source and destination, each in the order of the record's `taskIds`: the same share leads from one to the other in either direction. */
  sourceShards: string[];
  destinationShards: string[];
  /** How the present destination is read once it is the source. */
  accessBack: MigrationRecord['access'];
  /** Time of the destination right before it was opened to users, from which on a reverse replays its changes; null until then. */
  openedAt: Timestamp | null;
  /** Epoch of the leader that has stored the destination's catalog of then; null until one has. */
  openedCatalogEpoch: number | null;
  /** Set by a cleanup: from here on nobody swaps the clusters any more. */
  isOver: boolean;
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
  taskIds: string[];
  phase: MigrationPhase;
  failure: { error: ErrorName; errorDescription: string } | null;
  leaderEpoch: number;
  /** Epoch of the leader that has initialised: the stored collections of this epoch are the migration's. */
  catalogEpoch: number | null;
  startTime: Timestamp | null;
  estimatedTotalBytes: number | null;
  commit: CommitRound | null;
  /** Entries of the definition journal that count, and those of them that are applied: the largest ordinals, 0 for none. */
  ddlChanges: { known: number; done: number };
  /** The time below which all definition changes are among those that count in the journal: the only word of it that counts. */
  ddlWatermark: { time: Timestamp } | null;
  canWrite: boolean;
  /** After a failure of the commit: the source, whose writes had been blocked, takes them again. */
  sourceReleased: boolean;
  /** What the balancers were before Convoy stopped them; null until it did. */
  balancers: { source: boolean; destination: boolean } | null;
  /** What a reverse needs; null when the migration was not started with `reversible`, left out by releases without it. */
  reversal?: Reversal | null;
  /** The last look of the verifiers that the leader has asked for: up to these times, before or after attributes were restored. */
  verification?: { number: number; source: Timestamp; destination: Timestamp; restored: boolean } | null;
  /** Before the opening every share tells of the writes above the commit time that it has seen up to this time. */
  lastLook?: Timestamp | null;
  /** All documents were verified and attributes are being restored: the destination may expire documents by itself. */
  attributesRestoring?: boolean;
  /** Set by a cleanup that asks who is at work; a process answers it in its share's record. */
  memberCheck?: string;
  /** Preflight's and initialisation's remarks for the operator. */
  warnings: { name: string; description: string }[];
}

/** Whether the migration is verified in the direction that it has now: a reverse is not. */
export function isVerified({ options, reversal }: Pick<MigrationRecord, 'options' | 'reversal'>): boolean {
  return options.verification.enabled && (reversal?.turns ?? 0) === 0;
}

/** Whether the destination is opened, or will be whatever comes: from then on nothing depends on the source. */
export function isOpeningDecided({ phase }: Pick<MigrationRecord, 'phase'>): boolean {
  return phase === 'opening' || phase === 'committed';
}

const recordId = 'migration';

/** What a new migration's record is made of. */
export type NewMigration = Pick<
  MigrationRecord,
  'release' | 'options' | 'source' | 'destination' | 'access' | 'taskIds' | 'warnings' | 'reversal'
>;

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
      ddlChanges: { known: 0, done: 0 },
      ddlWatermark: null,
      canWrite: false,
      sourceReleased: false,
      balancers: null,
    };
    const stored = (await this.metadata.findAndUpdate('migration', { _id: recordId }, { $setOnInsert: fresh }, signal, {
      upsert: true,
    })) as MigrationRecord | null;
    if (stored === null) throw new ConvoyError('internalError', 'The migration record could not be written.');
    refuseOtherMigration(stored, migration, digest);
    return stored;
  }

  /** Mints the next leader epoch. From then on writes under an earlier one are refused. */
  async takeLeaderEpoch(signal: AbortSignal): Promise<number> {
    const stored = await this.metadata.findAndUpdate(
      'migration',
      { _id: recordId },
      { $inc: { leaderEpoch: 1 } },
      signal,
    );
    if (stored === null) throw new ConvoyError('internalError', 'There is no migration to lead.');
    return Number(stored.leaderEpoch);
  }

  /**
   * Sets fields of the record. A copy of the write that a router has kept, and carries out after later ones of the same
   * leader, changes nothing of how far the migration is.
   * @throws ConvoyError `staleEpoch` when another leader has taken over
   */
  async updateAsLeader(leaderEpoch: number, set: Partial<MigrationRecord>, signal: AbortSignal): Promise<void> {
    const written = await this.metadata.updateOne(
      'migration',
      { _id: recordId, leaderEpoch, ...notBeyond(set) },
      { $set: set },
      signal,
    );
    if (!written) throw new ConvoyError('staleEpoch', 'Another instance has become the coordinator instance.');
  }

  /**
   * Notes what a reverse has to know of the opening of the destination, beside what is noted already.
   * @throws ConvoyError `staleEpoch` when another leader has taken over
   */
  async noteOpening(
    leaderEpoch: number,
    noted: Partial<Pick<Reversal, 'openedAt' | 'openedCatalogEpoch'>>,
    signal: AbortSignal,
  ): Promise<void> {
    const set = Object.fromEntries(Object.entries(noted).map(([field, value]) => [`reversal.${field}`, value]));
    const written = await this.metadata.updateOne('migration', { _id: recordId, leaderEpoch }, { $set: set }, signal);
    if (!written) throw new ConvoyError('staleEpoch', 'Another instance has become the coordinator instance.');
  }

  /**
   * Asks whether this leader is still the present one.
   * @throws ConvoyError `staleEpoch` when another leader has taken over
   */
  async confirmLeader(leaderEpoch: number, signal: AbortSignal): Promise<void> {
    await this.updateAsLeader(leaderEpoch, { leaderEpoch }, signal);
  }

  /**
   * Moves the ends of the definition journal on; a smaller ordinal changes nothing, so that a late repetition does no harm.
   * @throws ConvoyError `staleEpoch` when another leader has taken over
   */
  async raiseDdlChanges(
    leaderEpoch: number,
    ends: Partial<MigrationRecord['ddlChanges']>,
    signal: AbortSignal,
  ): Promise<void> {
    const raised = Object.fromEntries(Object.entries(ends).map(([end, ordinal]) => [`ddlChanges.${end}`, ordinal]));
    const written = await this.metadata.updateOne(
      'migration',
      { _id: recordId, leaderEpoch },
      { $max: raised },
      signal,
    );
    if (!written) throw new ConvoyError('staleEpoch', 'Another instance has become the coordinator instance.');
  }

  /**
   * Decides between *failed* and *opening*: only while the migration has not failed may it move on.
   * Returns false when it had failed before.
   * @throws ConvoyError `staleEpoch` when another leader has taken over
   */
  async openAsLeader(leaderEpoch: number, signal: AbortSignal): Promise<boolean> {
    const undecided = { _id: recordId, leaderEpoch, failure: null, ...notBeyond({ phase: 'opening' }) };
    if (await this.metadata.updateOne('migration', undecided, { $set: { phase: 'opening' } }, signal)) return true;
    const stored = await this.read(signal);
    if (stored !== null && stored.failure !== null) return false;
    throw new ConvoyError('staleEpoch', 'Another instance has become the coordinator instance.');
  }

  /**
   * Swaps the clusters of a committed migration. One conditional write decides between this and a cleanup.
   * @param turns how often they have been swapped before
   * @throws ConvoyError `staleEpoch` when another leader has taken over, or the migration can no longer be reversed
   */
  async turnAsLeader(
    leaderEpoch: number,
    turns: number,
    set: Partial<MigrationRecord>,
    signal: AbortSignal,
  ): Promise<void> {
    const committed = {
      _id: recordId,
      leaderEpoch,
      phase: 'committed',
      'reversal.turns': turns,
      'reversal.isOver': false,
    };
    const written = await this.metadata.updateOne('migration', committed, { $set: set }, signal);
    if (!written)
      throw new ConvoyError(
        'staleEpoch',
        'Another instance has become the coordinator instance, or the migration was cleaned up.',
      );
  }

  /** Decides that a committed migration is not reversed any more. Returns false when it is being reversed. */
  async endReversal(signal: AbortSignal): Promise<boolean> {
    return this.metadata.updateOne(
      'migration',
      { _id: recordId, phase: 'committed' },
      { $set: { 'reversal.isOver': true } },
      signal,
    );
  }

  /** Notes that the source of a failed migration takes writes again. */
  async noteSourceReleased(signal: AbortSignal): Promise<void> {
    await this.metadata.updateOne(
      'migration',
      { _id: recordId, failure: { $ne: null } },
      { $set: { sourceReleased: true } },
      signal,
    );
  }

  /** Asks the migration's processes to say that they are at work. */
  async checkMembers(memberCheck: string, signal: AbortSignal): Promise<void> {
    await this.metadata.updateOne('migration', { _id: recordId }, { $set: { memberCheck } }, signal);
  }

  /** Records the first failure; later ones, and any after the decision to open, change nothing. */
  async fail(failure: { error: ErrorName; errorDescription: string }, signal: AbortSignal): Promise<void> {
    const undecided = {
      _id: recordId,
      failure: null,
      phase: { $in: ['starting', 'syncing', 'committing', 'reversing'] },
    };
    await this.metadata.updateOne('migration', undecided, { $set: { failure } }, signal);
  }
}

/** The condition under which a leader's write comes in its turn, or once more: the record is not further than it says. */
function notBeyond({ phase, commit, verification }: Partial<MigrationRecord>): Document {
  const later: Document[] = [];
  if (commit) later.push({ 'commit.round': { $gt: commit.round } });
  if (commit?.sealed === false) later.push({ 'commit.round': commit.round, 'commit.sealed': true });
  if (verification) later.push({ 'verification.number': { $gt: verification.number } });
  return {
    ...(phase !== undefined && { phase: { $in: phasesUpTo(phase) } }),
    ...(later.length > 0 && { $nor: later }),
  };
}

/** A reverse begins before all phases that follow it in the other direction. */
function phasesUpTo(phase: MigrationPhase): MigrationPhase[] {
  return ['reversing', ...migrationPhases.slice(0, migrationPhases.indexOf(phase) + 1)];
}

function refuseOtherMigration(stored: MigrationRecord, wanted: NewMigration, digest: string): void {
  if (stored.digest !== digest) {
    const names = optionsDifference(stored.options, wanted.options);
    throw new ConvoyError(
      'optionsDiffer',
      `The migration was started with other values of: ${names.join(', ')}. Start this instance with the same options.`,
    );
  }
  const sameClusters =
    stored.source.clusterId === wanted.source.clusterId &&
    stored.destination.clusterId === wanted.destination.clusterId;
  if (!sameClusters) throw new ConvoyError('migrationExists');
  if (stored.access !== wanted.access) {
    throw new ConvoyError(
      'optionsDiffer',
      `The migration reads its source ${stored.access === 'direct' ? 'straight from the shards' : 'through the router'}; give this instance the same sourceAccess, or start it again.`,
    );
  }
}
