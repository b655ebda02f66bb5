import type { StartRequest } from '@convoy/api/contract/start-request';
import { optionsDifference, optionsDigest } from '@convoy/api/contract/options-digest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ErrorName } from '@convoy/api/errors/table';
import type { Document, Timestamp } from 'mongodb';
import type { SkippedIndex } from '../catalog/index-plan.js';
import type { FleetCommands } from './fleet-commands.js';
import type { Metadata } from './metadata.js';
import { checkEpoch, checkLedWrite, type LedState } from './state-rules.js';

/** Phases of the whole migration. They only advance, except that a reverse leads from `committed` to `reversing`. */
export const migrationPhases = ['starting', 'syncing', 'committing', 'opening', 'committed', 'reversing'] as const;
export type MigrationPhase = (typeof migrationPhases)[number];

/** One commit attempt: all tasks drain past `time`. A new round has a later time. */
export interface CommitRound {
  round: number;
  time: Timestamp;
  /** True once all tasks are drained with no write above `time`: no further round follows. */
  sealed: boolean;
  /** Epoch of the leader that sealed; its stored catalog is the committed one. Null until then. */
  catalogEpoch: number | null;
}

/** The two directions of a reversible migration. */
export interface Reversal {
  /** How often source and destination were swapped. */
  turns: number;
  /**
   * The shards of the present source and destination, each in the order of the record's `taskIds`: a task connects the
   * same two shards in both directions.
   */
  sourceShards: string[];
  destinationShards: string[];
  /** How Convoy reads the present destination once it is the source. */
  accessBack: MigrationRecord['access'];
  /**
   * The destination's time right before it was opened to users: a reverse replays its changes from here. Null until
   * then.
   */
  openedAt: Timestamp | null;
  /** Epoch of the leader that stored the destination's catalog at that time; null until one has. */
  openedCatalogEpoch: number | null;
  /** Set by a cleanup: the clusters cannot be swapped any more. */
  isOver: boolean;
}

/** Which balancers were on. */
export interface FormerBalancers {
  source: boolean;
  destination: boolean;
  /** Where somebody had turned the AutoMerger off; absent in records of releases that did not look. */
  autoMergersOff?: { source: boolean; destination: boolean };
}

/** The one document of the collection `migration`. */
export interface MigrationRecord {
  release: string;
  options: StartRequest;
  digest: string;
  source: { name: string; clusterId: string };
  destination: { name: string; clusterId: string };
  /** How all instances read the source: from its shards, or through its routers. */
  access: 'direct' | 'router';
  /** One sync task for each source shard; exactly one instance owns a task. */
  taskIds: string[];
  /** The destination's shards when the migration began; absent in records of earlier releases. */
  destinationShards?: string[];
  /** Shards that joined the source since: it may lose none of them either. Absent while there are none. */
  joinedShards?: string[];
  phase: MigrationPhase;
  failure: { error: ErrorName; errorDescription: string } | null;
  leaderEpoch: number;
  /** Epochs of its leaders and tasks are above it (`fence.ts`). Absent in records of earlier releases, for 0. */
  firstEpoch?: number;
  /** Epoch of the leader that initialised; the stored collections of this epoch are the migration's. */
  catalogEpoch: number | null;
  startTime: Timestamp | null;
  estimatedTotalBytes: number | null;
  commit: CommitRound | null;
  /** The largest ordinals of the DDL journal that count (`known`) and that are applied (`done`); 0 for none. */
  ddlChanges: { known: number; done: number };
  /** The DDL watermark: all DDL changes below it are among the known ones. This record alone is authoritative. */
  ddlWatermark: { time: Timestamp } | null;
  canWrite: boolean;
  /** After a failed commit: the source accepts writes again, which had been blocked. */
  sourceReleased: boolean;
  /** The balancers' state before Convoy stopped them; null until then. */
  balancers: FormerBalancers | null;
  /** Null when the migration was not started with `reversible`; absent in releases without it. */
  reversal?: Reversal | null;
  /**
   * The verifiers' final comparison that the leader has requested: up to these times, before or after it
   * restored attributes.
   */
  verification?: { number: number; source: Timestamp; destination: Timestamp; restored: boolean } | null;
  /** Before the opening, every task reports the writes above the commit time that it has read up to this time. */
  lastLook?: Timestamp | null;
  /** All documents are verified and attributes are being restored: the destination may expire documents. */
  attributesRestoring?: boolean;
  /** By the destination's clock, when the leader last wrote a field that begins a step; absent before. */
  stepBeganAt?: Date;
  /** Indexes that are built after the copy: absent until everything is copied. */
  indexBuilds?: 'running' | 'done';
  /** Indexes that the destination could not build, by the user's choice; absent while there are none. */
  skippedIndexes?: SkippedIndex[];
  /** Set by a cleanup that checks for running members; a process answers in its task's record. */
  memberCheck?: string;
  /** Commands that a coordinator sent to the whole fleet; absent when each instance got its own. */
  fleetCommands?: FleetCommands;
  /**
   * Whether a leader has looked in the present direction at what a commit would leave behind, or could not. Absent in
   * records of earlier releases.
   */
  inventoryLook?: 'pending' | 'done';
  /** Epoch of the leader whose journal of carried items counts; absent until the commit has one. */
  carryEpoch?: number | null;
  /**
   * The commit time of the source, and a time of the destination between Convoy's last write to collections of users
   * and its opening; absent until then.
   */
  handOver?: { source: Timestamp; destination: Timestamp } | null;
  /** Warnings of preflight and initialisation for the operator. */
  warnings: { name: string; description: string }[];
}

/** Whether the present direction is verified: a reverse is not. */
export function isVerified({ options, reversal }: Pick<MigrationRecord, 'options' | 'reversal'>): boolean {
  return options.verification.enabled && (reversal?.turns ?? 0) === 0;
}

/** Whether the destination is open or certain to be opened: from then on nothing depends on the source. */
export function isOpeningDecided({ phase }: Pick<MigrationRecord, 'phase'>): boolean {
  return phase === 'opening' || phase === 'committed';
}

const recordId = 'migration';

export type NewMigration = Pick<
  MigrationRecord,
  | 'release'
  | 'options'
  | 'source'
  | 'destination'
  | 'access'
  | 'taskIds'
  | 'destinationShards'
  | 'warnings'
  | 'reversal'
  | 'firstEpoch'
>;

/** Reads and writes the migration record. Leader writes require the present leader's epoch. */
export class MigrationRecords {
  /** What this process knows as the leader, for the rules of the state; null before it has led. */
  #led: LedState | null = null;

  constructor(private readonly metadata: Metadata) {}

  async read(signal: AbortSignal): Promise<MigrationRecord | null> {
    return (await this.metadata.findOne('migration', { _id: recordId }, signal)) as MigrationRecord | null;
  }

  /**
   * Records the migration, or joins the recorded one.
   * @throws ConvoyError `optionsDiffer` (naming the options), `migrationExists`
   */
  async begin(migration: NewMigration, signal: AbortSignal): Promise<MigrationRecord> {
    const digest = optionsDigest(migration.options);
    const fresh: Omit<MigrationRecord, 'options'> & { options: Document } = {
      ...migration,
      digest,
      phase: 'starting',
      failure: null,
      leaderEpoch: migration.firstEpoch ?? 0,
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
    const what = 'The migration record';
    const stored = await this.metadata.findOrInsert('migration', recordId, fresh, what, signal);
    refuseOtherMigration(stored as MigrationRecord, migration);
    return stored as MigrationRecord;
  }

  /**
   * The recorded migration, if it is this one.
   * @throws ConvoyError `destinationChanged` when there is none, `optionsDiffer`, `migrationExists`
   */
  async join(migration: NewMigration, signal: AbortSignal): Promise<MigrationRecord> {
    const stored = await this.read(signal);
    if (stored === null) throw missingState();
    refuseOtherMigration(stored, migration);
    return stored;
  }

  /** Raises the leader epoch. From then on writes under an earlier one are refused. */
  async takeLeaderEpoch(signal: AbortSignal): Promise<number> {
    const before = this.#led?.leaderEpoch;
    const stored = await this.metadata.findAndUpdate(
      'migration',
      { _id: recordId },
      { $inc: { leaderEpoch: 1 } },
      signal,
    );
    if (stored === null) throw new ConvoyError('internalError', 'There is no migration to lead.');
    const led = stored as unknown as LedState;
    checkEpoch('leaderEpochsRise', before, led.leaderEpoch);
    this.#led = led;
    return led.leaderEpoch;
  }

  /**
   * Sets fields of the record. A copy of the write that a router applies late, after later writes of the same leader,
   * does not set the migration back.
   * @throws ConvoyError `staleEpoch` when another leader has taken over; `internalError` for a broken rule
   */
  async updateAsLeader(leaderEpoch: number, set: Partial<MigrationRecord>, signal: AbortSignal): Promise<void> {
    const wrote = this.#checked(leaderEpoch, set);
    await this.#asLeader(leaderEpoch, { $set: set, ...(beginsStep(set) && nowBegan) }, signal, notBeyond(set));
    wrote();
  }

  /**
   * Records facts about the opening of the destination that a reverse needs; other fields stay.
   * @throws ConvoyError `staleEpoch` when another leader has taken over
   */
  async noteOpening(
    leaderEpoch: number,
    noted: Partial<Pick<Reversal, 'openedAt' | 'openedCatalogEpoch'>>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#asLeader(leaderEpoch, { $set: fieldsOf('reversal', noted) }, signal);
  }

  /**
   * Confirms that this leader is the present one.
   * @throws ConvoyError `staleEpoch` when another leader has taken over
   */
  async confirmLeader(leaderEpoch: number, signal: AbortSignal): Promise<void> {
    await this.updateAsLeader(leaderEpoch, { leaderEpoch }, signal);
  }

  /**
   * Raises the ends of the DDL journal. A smaller ordinal changes nothing, so that a late repetition does no harm.
   * @throws ConvoyError `staleEpoch` when another leader has taken over
   */
  async raiseDdlChanges(
    leaderEpoch: number,
    ends: Partial<MigrationRecord['ddlChanges']>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#asLeader(leaderEpoch, { $max: fieldsOf('ddlChanges', ends) }, signal);
  }

  /**
   * Adds an index that the destination does not have as the source has it, or takes it away.
   * @throws ConvoyError `staleEpoch` when another leader has taken over
   */
  async noteSkipped(
    leaderEpoch: number,
    change: '$addToSet' | '$pull',
    skipped: SkippedIndex,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#asLeader(leaderEpoch, { [change]: { skippedIndexes: skipped } }, signal);
  }

  /**
   * Decides between *failed* and *opening*: sets the phase `opening` unless the migration has failed.
   * Returns false when it has failed.
   * @throws ConvoyError `staleEpoch` when another leader has taken over
   */
  async openAsLeader(leaderEpoch: number, signal: AbortSignal): Promise<boolean> {
    const undecided = { leaderEpoch, failure: null, ...notBeyond({ phase: 'opening' }) };
    const wrote = this.#checked(leaderEpoch, { phase: 'opening' });
    if (await this.#update(undecided, { $set: { phase: 'opening' }, ...nowBegan }, signal)) {
      wrote();
      return true;
    }
    const stored = await this.read(signal);
    if (stored !== null && stored.failure !== null) return false;
    throw anotherLeads();
  }

  /**
   * Swaps the clusters of a committed migration. One conditional write decides between this and a cleanup.
   * @param turns how often they were swapped before
   * @throws ConvoyError `staleEpoch` when another leader has taken over, or the migration can no longer be reversed
   */
  async turnAsLeader(
    leaderEpoch: number,
    turns: number,
    set: Partial<MigrationRecord>,
    signal: AbortSignal,
  ): Promise<void> {
    const committed = { leaderEpoch, phase: 'committed', 'reversal.turns': turns, 'reversal.isOver': false };
    const wrote = this.#checked(leaderEpoch, set);
    if (!(await this.#update(committed, { $set: set, ...nowBegan }, signal)))
      throw new ConvoyError('staleEpoch', 'Another instance now leads, or the migration was cleaned up.');
    wrote();
  }

  /** Rules out a reverse of a committed migration. Returns false when it is being reversed. */
  endReversal(signal: AbortSignal): Promise<boolean> {
    return this.#update({ phase: 'committed' }, { $set: { 'reversal.isOver': true } }, signal);
  }

  /** Records that the source of a failed migration accepts writes again. */
  async noteSourceReleased(signal: AbortSignal): Promise<void> {
    await this.#update({ failure: { $ne: null } }, { $set: { sourceReleased: true } }, signal);
  }

  /** Starts a member check: every running process of the migration answers it. */
  async checkMembers(memberCheck: string, signal: AbortSignal): Promise<void> {
    await this.#update({}, { $set: { memberCheck } }, signal);
  }

  /** Records the first failure; later ones, and any after the decision to open, change nothing. */
  async fail(failure: { error: ErrorName; errorDescription: string }, signal: AbortSignal): Promise<void> {
    const undecided = { failure: null, phase: { $in: ['starting', 'syncing', 'committing', 'reversing'] } };
    await this.#update(undecided, { $set: { failure } }, signal);
  }

  /**
   * Checks a write against what this process knows as the leader; nothing is known of other epochs.
   * @returns notes that it is written
   */
  #checked(leaderEpoch: number, set: Partial<MigrationRecord>): () => void {
    const led = this.#led;
    if (led?.leaderEpoch !== leaderEpoch) return () => undefined;
    checkLedWrite(led, set);
    return () => void Object.assign(led, set);
  }

  async #asLeader(leaderEpoch: number, update: Document, signal: AbortSignal, condition: Document = {}): Promise<void> {
    if (!(await this.#update({ leaderEpoch, ...condition }, update, signal))) throw anotherLeads();
  }

  /** Returns whether the record fulfilled the condition. */
  #update(condition: Document, update: Document, signal: AbortSignal): Promise<boolean> {
    return this.metadata.updateOne('migration', { _id: recordId, ...condition }, update, signal);
  }
}

/** Fields of an embedded document, for an update that leaves its others as they are. */
function fieldsOf(name: keyof MigrationRecord, fields: object): Document {
  return Object.fromEntries(Object.entries(fields).map(([field, value]) => [`${name}.${field}`, value as unknown]));
}

/** The fields that tell the steps of a commit or reverse apart. */
const stepFields: readonly (keyof MigrationRecord)[] = [
  'phase',
  'commit',
  'verification',
  'attributesRestoring',
  'lastLook',
  'canWrite',
];
/** Sets `stepBeganAt` in the write that begins a step. */
const nowBegan = { $currentDate: { stepBeganAt: true } };

function beginsStep(set: Partial<MigrationRecord>): boolean {
  return stepFields.some((field) => field in set);
}

/** The condition for a leader's write or its repetition: the record is not ahead of it. */
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

/** `reversing` precedes all phases of the other direction. */
function phasesUpTo(phase: MigrationPhase): MigrationPhase[] {
  return ['reversing', ...migrationPhases.slice(0, migrationPhases.indexOf(phase) + 1)];
}

/** @throws ConvoyError `optionsDiffer` that names the options */
export function refuseOtherOptions(stored: Pick<MigrationRecord, 'options' | 'digest'>, wanted: StartRequest): void {
  if (stored.digest === optionsDigest(wanted)) return;
  const names = optionsDifference(stored.options, wanted);
  throw new ConvoyError(
    'optionsDiffer',
    `The migration was started with other values of: ${names.join(', ')}. Start this instance with the same options.`,
  );
}

function refuseOtherMigration(stored: MigrationRecord, wanted: NewMigration): void {
  refuseOtherOptions(stored, wanted.options);
  const sameClusters = (['source', 'destination'] as const).every(
    (side) => stored[side].clusterId === wanted[side].clusterId,
  );
  if (!sameClusters) throw new ConvoyError('migrationExists');
  if (stored.access !== wanted.access) {
    throw new ConvoyError(
      'optionsDiffer',
      `The migration reads its source ${stored.access === 'direct' ? 'from the shards' : 'through the router'}. ` +
        'Give this instance the same sourceAccess, or restart it.',
    );
  }
}

function anotherLeads(): ConvoyError {
  return new ConvoyError('staleEpoch', 'Another instance now leads.');
}

/** Someone has removed the metadata of a migration that was there. */
export function missingState(): ConvoyError {
  return new ConvoyError('destinationChanged', 'The state of the migration is missing on the destination.');
}
