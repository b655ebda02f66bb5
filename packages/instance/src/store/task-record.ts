import { randomUUID } from 'node:crypto';
import type { OwnBlocker } from '@convoy/api/contract/commit-blocker';
import type { HotDocument } from '@convoy/api/contract/hot-documents';
import type { VerificationSideProgress } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Fleet } from '@convoy/api/fleet/fleet';
import { type Binary, type Document, type Timestamp, UUID } from 'mongodb';
import type { Metadata } from './metadata.js';

/** Documents that differ with no change in flight: a commit would fail. */
export interface LastingDifferences {
  documents: number;
  /** Of those, the ones that still differ after re-reads. */
  givenUp: number;
  namespaces: string[];
}

/** The durable state of one task's verifier, beside its parts and mismatches. */
export interface TaskVerification {
  /** Ordinal of the DDL journal up to which all collections that this task plans are planned; -1 while some are not. */
  planned: number;
  /** Times below which every change is compared; null while no collection is followed. */
  settled: { source: Timestamp | null; destination: Timestamp | null };
  /** Number of the last answered check, and how many documents differed in it. */
  answered: number;
  mismatches: number;
  /** How many differed in their latest comparison. */
  differing: number;
  /** For progress. */
  stats: { blocker: OwnBlocker | null; source: VerificationSideProgress; destination: VerificationSideProgress };
}

export interface DrainedRound {
  round: number;
  /** Late writes, without the two below; stored under its first name. */
  eventsAbove: number;
  /** Creations of collections and indexes, drops and reshardings: by users, or because something moves. */
  createsAndDrops?: number;
  /** UUIDs of the collections with deletes after it. */
  deletedIn?: string[];
  /** The record's `lastLook`, once the stream is read past it. */
  lookedTo?: Timestamp;
}

/** A document that changes more often than its apply worker sends batches. Progress has all but its `_id`. */
export interface StoredHotDocument extends HotDocument {
  /** Null for a long one. */
  id: Binary | null;
}

/** The durable state of one sync task: one source shard's part of the migration, and its owner. */
export interface TaskRecord {
  _id: string;
  /** Every new owner raises it; writes under an earlier one are refused. */
  epoch: number;
  owner: { syncID: string; incarnation: string };
  /** Id of the present owner's `take`; absent when an earlier release took the task. */
  taking?: string;
  started: boolean;
  paused: boolean;
  commitRequested: boolean;
  /** When its instance took the last command to commit or to reverse, by that process's clock. */
  requestedAt?: Date;
  /** The stream resumes here; everything below is durable on the destination. Null before the first checkpoint. */
  checkpoint: Timestamp | null;
  /** No event above this time was sent to the destination. */
  applyWatermark: Timestamp | null;
  /** Time of the latest routed change of migrated data, when the checkpoint was stored. */
  lastWrite: Timestamp | null;
  copied: { bytes: number; documents: number };
  copyDone: boolean;
  eventsApplied: number;
  /** As of the checkpoint; absent before the first one. */
  hotDocuments?: StoredHotDocument[];
  /** Set once everything up to the commit time of a round is durable. */
  drained: DrainedRound | null;
  /** Ids of the server sessions of this task's writes. */
  sessions: Binary[];
  /** The task has read the DDL journal up to this ordinal and has suspended the collections of its undone entries. */
  acknowledged: number;
  /** Collections in the task's stream that are not followed. */
  unknown: { uuid: string; database: string; name: string }[];
  /** The `Reversal.turns` that this record belongs to; absent for 0. */
  turn?: number;
  /** The turn for which the task's instance received a `reverse` request. */
  reverseRequested?: number;
  /** The number up to which pauses and resumes of the whole fleet count as taken; absent for none. */
  followed?: number;
  /** Of the embedded verifier; absent until it starts. */
  verification?: TaskVerification;
  /** The last member check that the task's process has answered. */
  present?: string;
}

/** The durable state of a task at its start. */
const initialState = {
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

/** How a process takes a task. */
interface TakeOptions {
  /** Of the migration: the epoch of a new task is above it. */
  firstEpoch?: number | undefined;
  /** Knows whether another process has this one's identity: then this one was frozen, and may not take the task. */
  fleet?: Pick<Fleet, 'isReplaced'>;
}

/** Reads and writes task records, conditional on the owner's epoch. */
export class TaskRecords {
  constructor(private readonly metadata: Metadata) {}

  async readAll(signal: AbortSignal): Promise<TaskRecord[]> {
    return (await this.metadata.find('tasks', {}, signal)) as unknown as TaskRecord[];
  }

  async readSome(ids: readonly string[], signal: AbortSignal): Promise<TaskRecord[]> {
    return (await this.metadata.find('tasks', { _id: { $in: ids } }, signal)) as unknown as TaskRecord[];
  }

  /**
   * Makes this process the owner of a task: raises the epoch and creates the write sessions if needed. A router may
   * repeat the write early or late: it still raises only the epoch that was found.
   * @param sessionsMax number of server sessions, one per write in flight
   * @throws ConvoyError `staleEpoch` when another process has this one's identity
   */
  async take(
    taskId: string,
    owner: TaskRecord['owner'],
    sessionsMax: number,
    signal: AbortSignal,
    { firstEpoch = 0, fleet }: TakeOptions = {},
  ): Promise<TaskRecord> {
    const sessions = Array.from({ length: sessionsMax }, () => new UUID().toBinary());
    const initial = { epoch: firstEpoch, owner, started: true, ...initialState, sessions };
    const taking = randomUUID();
    for (;;) {
      const what = `The record of sync task ${taskId}`;
      const stored = await this.metadata.findOrInsert('tasks', taskId, initial, what, signal);
      if (stored.taking === taking) return stored as unknown as TaskRecord;
      const found = Number(stored.epoch);
      // After the read: whoever replaces this process from here on raises the epoch, and the write finds that.
      if ((await fleet?.isReplaced?.()) === true) throw takenOver(taskId);
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
   * Resets all tasks after the clusters are swapped: everything counts as copied, and no change of the new source is
   * applied. Repeatable: tasks of this turn stay as they are.
   */
  async resetAfterSwap(turn: number, signal: AbortSignal): Promise<void> {
    const $set: Partial<TaskRecord> = { ...initialState, turn, copyDone: true };
    await this.metadata.updateMany('tasks', { turn: { $not: { $gte: turn } } }, { $set, $inc: { epoch: 1 } }, signal);
  }

  /**
   * Sets fields of a record. Fields that an owner only raises are never lowered, even when a router applies a copy of
   * an earlier write late.
   * @throws ConvoyError `staleEpoch` when another process has taken the task over
   */
  async update(taskId: string, epoch: number, set: Partial<TaskRecord>, signal: AbortSignal): Promise<void> {
    const written = await this.metadata.updateOne('tasks', { _id: taskId, epoch }, changesOf(set), signal);
    if (!written) throw takenOver(taskId);
  }
}

function takenOver(taskId: string): ConvoyError {
  return new ConvoyError('staleEpoch', `Another process owns sync task ${taskId}.`);
}

/** Fields that only rise within an epoch. */
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

/** Writes the apply watermark of one sync task durably. */
type SaveWatermark = (time: bigint) => Promise<void>;

/**
 * The time up to which events may have been sent to the destination. It is durable before an event is sent.
 * After a crash, the events between the checkpoint and this time may or may not be applied.
 */
export class ApplyWatermark {
  #writing: Promise<void> | null = null;
  #durable: bigint;

  /**
   * @param durable the stored time
   * @param reachable how far the stream has been read: one write covers all of it
   */
  constructor(
    durable: bigint,
    private readonly save: SaveWatermark,
    private readonly reachable: () => bigint,
  ) {
    this.#durable = durable;
  }

  /**
   * Resolves once the durable watermark is at or above `time`. One write at a time, so that none undoes a later one.
   */
  async cover(time: bigint): Promise<void> {
    while (time > this.#durable) {
      const ahead = this.reachable();
      this.#writing ??= this.#write(ahead > time ? ahead : time).finally(() => {
        this.#writing = null;
      });
      await this.#writing;
    }
  }

  async #write(target: bigint): Promise<void> {
    await this.save(target);
    if (target > this.#durable) this.#durable = target;
  }
}
