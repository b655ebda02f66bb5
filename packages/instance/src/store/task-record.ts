import { randomUUID } from 'node:crypto';
import type { OwnBlocker } from '@convoy/api/contract/commit-blocker';
import type { VerificationSideProgress } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { Binary, type Document, type Timestamp } from 'mongodb';
import type { Metadata } from './metadata.js';

/** What differs with nothing on its way: a commit would fail. */
export interface LastingDifferences {
  documents: number;
  /** Of those, the ones that reading them anew has not helped. */
  givenUp: number;
  namespaces: string[];
}

/** What is durable of one share's verifier, beside its parts and mismatches. */
export interface TaskVerification {
  /** Entries of the definition journal up to which all collections that this share plans are planned; -1 while some are not. */
  planned: number;
  /** On both sides everything below was looked at; null while nothing is followed. */
  settled: { source: Timestamp | null; destination: Timestamp | null };
  /** The last look that was answered, and how many documents differed at it. */
  answered: number;
  mismatches: number;
  /** How many differed when they were looked at last. */
  differing: number;
  /** For progress. */
  stats: { blocker: OwnBlocker | null; source: VerificationSideProgress; destination: VerificationSideProgress };
}

/** What a share has drained. */
export interface DrainedRound {
  round: number;
  /** Source writes that were seen after the commit time, deletes left out. */
  eventsAbove: number;
  /** UUIDs of the collections of which documents were deleted after it. */
  deletedIn?: string[];
  /** The record's `lastLook`, once the stream was read past it. */
  lookedTo?: Timestamp;
}

/** What is durable of one share: one source shard's part of the migration, and who works on it. */
export interface TaskRecord {
  _id: string;
  /** Minted by every new owner; writes under an earlier one are refused. */
  epoch: number;
  owner: { syncID: string; incarnation: string };
  /** Tells the present owner's taking from all others; absent when an earlier release took the share. */
  taking?: string;
  started: boolean;
  paused: boolean;
  commitRequested: boolean;
  /** The stream is resumed here; everything below is durable on the destination. Null before the first one. */
  checkpoint: Timestamp | null;
  /** No event above this time was sent to the destination. */
  applyWatermark: Timestamp | null;
  /** Time of the latest change of migrated data that was routed when the checkpoint was stored. */
  lastWrite: Timestamp | null;
  copied: { bytes: number; documents: number };
  copyDone: boolean;
  eventsApplied: number;
  /** Set when everything up to the commit time of a round is durable; `eventsAbove` counts source writes seen after it. */
  drained: DrainedRound | null;
  /** Ids of the server sessions of this identity's writes. */
  sessions: Binary[];
  /** All entries of the definition journal up to this ordinal are known to the share, and it has let go of what undone ones are about. */
  acknowledged: number;
  /** Collections that the share's stream has shown changes of and that are not followed. */
  unknown: { uuid: string; database: string; name: string }[];
  /** The number of turns (`Reversal.turns`) that the record is about, left out for 0, and the one that the share was told to reverse. */
  turn?: number;
  reverseRequested?: number;
  /** Of the embedded verifier; absent until it has begun. */
  verification?: TaskVerification;
  /** The last roll call that this share's process has answered. */
  present?: string;
}

/** The durable state of a share of which nothing is done. */
const unbegun = {
  paused: false,
  commitRequested: false,
  checkpoint: null,
  applyWatermark: null,
  lastWrite: null,
  copied: { bytes: 0, documents: 0 },
  copyDone: false,
  eventsApplied: 0,
  drained: null,
  acknowledged: 0,
  unknown: [],
} satisfies Partial<TaskRecord>;

/** Reads and writes of share records, conditional on the owner's epoch. */
export class TaskRecords {
  constructor(private readonly metadata: Metadata) {}

  async readAll(signal: AbortSignal): Promise<TaskRecord[]> {
    return (await this.metadata.find('tasks', {}, signal)) as unknown as TaskRecord[];
  }

  /**
   * Takes a share over for this process: mints the next epoch and makes sure that its write sessions exist. Repeated by a
   * router, early or late, it is one taking: it raises the one epoch that was found.
   * @param sessionsMax number of server sessions, one per write that may be in flight
   */
  async take(
    taskId: string,
    owner: TaskRecord['owner'],
    sessionsMax: number,
    signal: AbortSignal,
  ): Promise<TaskRecord> {
    const sessions = Array.from({ length: sessionsMax }, () => newSessionId());
    const initial: Document = {
      epoch: 0,
      owner,
      started: true,
      ...unbegun,
      sessions,
    };
    const taking = randomUUID();
    for (;;) {
      const stored = await this.metadata.findAndUpdate('tasks', { _id: taskId }, { $setOnInsert: initial }, signal, {
        upsert: true,
      });
      if (stored === null)
        throw new ConvoyError('internalError', `The record of share ${taskId} could not be written.`);
      if (stored.taking === taking) return stored as unknown as TaskRecord;
      const found = Number(stored.epoch);
      const taken = await this.metadata.findAndUpdate(
        'tasks',
        { _id: taskId, epoch: found },
        { $set: { epoch: found + 1, owner, taking } },
        signal,
      );
      if (taken !== null) return taken as unknown as TaskRecord;
    }
  }

  /**
   * Lets all shares begin anew after the clusters were swapped: everything is copied, and nothing of the new source's
   * changes applied. Shares that have done so are left alone, whoever repeats it when.
   */
  async beginTurn(turn: number, signal: AbortSignal): Promise<void> {
    const set: Partial<TaskRecord> = {
      ...unbegun,
      turn,
      copyDone: true,
    };
    await this.metadata.updateMany(
      'tasks',
      { turn: { $not: { $gte: turn } } },
      { $set: set, $inc: { epoch: 1 } },
      signal,
    );
  }

  /**
   * Sets fields of a record. Those that an owner only raises are never lowered, whatever copy of an earlier write a router
   * carries out late.
   * @throws ConvoyError `staleEpoch` when another process has taken the share over
   */
  async update(taskId: string, epoch: number, set: Partial<TaskRecord>, signal: AbortSignal): Promise<void> {
    const written = await this.metadata.updateOne('tasks', { _id: taskId, epoch }, changesOf(set), signal);
    if (!written) throw new ConvoyError('staleEpoch', `Another process works on share ${taskId}.`);
  }
}

/** Fields that go only up while an epoch lasts. */
const raisedFields: ReadonlySet<string> = new Set<keyof TaskRecord>(['checkpoint', 'applyWatermark', 'acknowledged']);

function changesOf(fields: Partial<TaskRecord>): Document {
  const isRaised = ([field]: [string, unknown]): boolean => raisedFields.has(field);
  const raised = Object.entries(fields).filter(isRaised);
  const set = Object.entries(fields).filter((entry) => !isRaised(entry));
  return {
    ...(set.length > 0 && { $set: Object.fromEntries(set) }),
    ...(raised.length > 0 && { $max: Object.fromEntries(raised) }),
  };
}

function newSessionId(): Binary {
  return new Binary(Buffer.from(randomUUID().replaceAll('-', ''), 'hex'), Binary.SUBTYPE_UUID);
}
