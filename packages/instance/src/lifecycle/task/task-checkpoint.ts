import type { Fleet } from '@convoy/api/fleet/fleet';
import { type ApplyWorkers, earlier } from '../../apply/apply-workers.js';
import type { EventDispatcher } from '../../apply/event-dispatcher.js';
import { timestampOf } from '../../cluster/cluster-time.js';
import type { RereadSet } from '../../store/reread-set.js';
import type { Condition } from '../../async/waiting.js';
import type { Runtime } from '../migration/runtime.js';
import type { TaskTables } from './followed-collections.js';
import { storedHotDocuments, type TaskStats } from './task-stats.js';
import type { UnknownCollections } from './apply-stage.js';
import type { Clock } from '../../async/clock.js';
import type { TaskRecord, TaskRecords } from '../../store/task-record.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { type ConfirmOwner, FencedWriter } from '../../store/fenced-writer.js';
import type { Retrying } from '../../async/retry.js';
import { SessionFence } from '../../store/fence.js';

/** The owner confirms its epoch at least this often, even when nothing changes. */
const confirm_ms = 10_000;
/**
 * After this long without an event, and with all events applied, the checkpoint only follows periodic no-ops of the
 * source: a restart would apply nothing again.
 */
const idle_ms = 10_000;
/** Interval of storing it then. */
const idleSave_ms = 5_000;
/**
 * Sends nothing when the ownership is unconfirmed for this long: servers forget sessions, and with them the fence,
 * after 30 minutes.
 */
const ownerUnconfirmedMax_ms = 10 * 60_000;

/** Upper bounds of the checkpoint. */
export interface CheckpointStages {
  runtime: Runtime;
  dispatcher: EventDispatcher;
  applyWorkers: ApplyWorkers;
  rereads: RereadSet;
  followed: TaskTables;
  unknown: UnknownCollections;
  /** Signalled after every stored checkpoint. */
  progressed: Condition;
  stats(): TaskStats;
  record: OwnedRecord;
  /** The verifiers of all tasks begin once every copy is recorded as done. */
  fleet: Fleet;
}

/** Keeps the durable checkpoint of a sync task: everything below it is durable on the destination. */
export class TaskCheckpoint {
  #saved: bigint;
  /** The latest dispatched event, and when it was first seen. */
  #latest = 0n;
  #latestAt_ms: number;
  /** As last stored by this process. */
  #copyDone = false;

  /** @param saved the stored checkpoint, or where the stream begins */
  constructor(
    private readonly stages: CheckpointStages,
    saved: bigint,
  ) {
    this.#saved = saved;
    this.#latestAt_ms = stages.runtime.clock.monotonic_ms();
  }

  /** The smallest of the first event that is not durable yet, and the read time of every partition being copied. */
  time(): bigint {
    const { followed, unknown } = this.stages;
    let lowest = this.#appliedBelow();
    const lower = (time: bigint | null) => {
      if (time !== null && time < lowest) lowest = time;
    };
    lower(unknown.oldestWaiting);
    for (const table of followed.tables.values()) {
      for (const { state, readTime } of table.partitions)
        if (state === 'starting' || state === 'copying') lower(readTime);
    }
    return lowest;
  }

  /** Below it every event of the copied documents is durable; a long copy does not hold it back. */
  #appliedBelow(): bigint {
    const { applyWorkers, rereads } = this.stages;
    return this.#routedOr(earlier(applyWorkers.oldest(), rereads.oldestPending()));
  }

  /** Events that wait for a DDL change of one collection do not hold back what is remembered of others. */
  #forgetReadings(): void {
    const { applyWorkers, rereads } = this.stages;
    const buffered = rereads.oldestPending();
    rereads.forgetReadings((uuid) => this.#routedOr(earlier(applyWorkers.oldestOf(uuid), buffered)));
  }

  #routedOr(waiting: bigint | null): bigint {
    const next = this.stages.dispatcher.position + 1n;
    return waiting !== null && waiting < next ? waiting : next;
  }

  /** Stores the checkpoint and confirms the ownership at intervals, until the stop signal. */
  async keep(stop: AbortSignal): Promise<void> {
    const { runtime, record } = this.stages;
    for (;;) {
      await runtime.clock.sleep(runtime.config.checkpoint_ms, stop);
      const moved = this.time() > this.#saved && (!this.#isIdle() || record.unconfirmed_ms >= idleSave_ms);
      if (!moved && record.unconfirmed_ms < confirm_ms) continue;
      await this.save();
    }
  }

  #isIdle(): boolean {
    const { dispatcher, applyWorkers, runtime } = this.stages;
    const now_ms = runtime.clock.monotonic_ms();
    if (dispatcher.latest !== this.#latest || applyWorkers.oldest() !== null)
      [this.#latest, this.#latestAt_ms] = [dispatcher.latest, now_ms];
    return now_ms - this.#latestAt_ms >= idle_ms;
  }

  /** Stores the present checkpoint and the stats with it. */
  async save(): Promise<void> {
    const { dispatcher, progressed, record, fleet } = this.stages;
    const time = this.time();
    const checkpoint = time > this.#saved ? time : this.#saved;
    const stats = this.stages.stats();
    const { copiedBytes, copiedDocuments, copyDone, eventsApplied } = stats;
    const copied = { bytes: copiedBytes, documents: copiedDocuments };
    const lastWrite = timestampOf(dispatcher.lastWrite);
    await record.update({
      checkpoint: timestampOf(checkpoint),
      lastWrite,
      copied,
      copyDone,
      eventsApplied,
      hotDocuments: storedHotDocuments(stats),
    });
    this.#saved = checkpoint;
    if (copyDone && !this.#copyDone) fleet.wake();
    this.#copyDone = copyDone;
    this.#forgetReadings();
    progressed.changed();
  }

  /** A process that was frozen for long finds out here that it was replaced, before it sends anything. */
  async confirmOwner(): Promise<void> {
    if (this.stages.record.unconfirmed_ms >= ownerUnconfirmedMax_ms) await this.save();
  }
}

/** The record of a task, which its owner changes under its epoch; every change confirms the ownership. */
export class OwnedRecord {
  #confirmed_ms: number;

  constructor(
    private readonly records: TaskRecords,
    private readonly task: TaskRecord,
    private readonly clock: Clock,
    private readonly hard: AbortSignal,
  ) {
    this.#confirmed_ms = clock.monotonic_ms();
  }

  /** Milliseconds since the ownership was last confirmed. */
  get unconfirmed_ms(): number {
    return this.clock.monotonic_ms() - this.#confirmed_ms;
  }

  /** @throws ConvoyError `staleEpoch` when another process owns the task */
  async update(fields: Partial<TaskRecord>): Promise<void> {
    const asked_ms = this.clock.monotonic_ms();
    await this.records.update(this.task._id, this.task.epoch, fields, this.hard);
    this.#confirmed_ms = asked_ms;
  }
}

/** The writers of a sync task. Each stage has its own sessions, so that none waits for another's writes. */
export interface TaskWriters {
  copy: FencedWriter;
  apply: FencedWriter;
  reread: FencedWriter;
}

/** Assigns the sessions of a task: one for re-reads, one to each apply worker, the rest to the copy. */
export function taskWriters(
  destination: ClusterClient,
  retrying: Retrying,
  record: TaskRecord,
  applyWorkers: number,
  confirm: ConfirmOwner,
): TaskWriters {
  const fence = new SessionFence(destination, retrying);
  const sessions = record.sessions.map((session) => session.value());
  const forWorkers = Math.max(1, Math.min(applyWorkers, sessions.length - 2));
  const writer = (from: number, to: number): FencedWriter =>
    new FencedWriter(destination.router, retrying, sessions.slice(from, to), record.epoch, confirm, fence);
  return { reread: writer(0, 1), apply: writer(1, 1 + forWorkers), copy: writer(1 + forWorkers, sessions.length) };
}
