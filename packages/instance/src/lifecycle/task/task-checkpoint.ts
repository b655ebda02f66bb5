import type { Fleet } from '@convoy/api/fleet/fleet';
import { earlier } from '../../apply/apply-workers.js';
import type { Clock } from '../../async/clock.js';
import { untilFirst } from '../../async/waiting.js';
import { timestampOf } from '../../cluster/cluster-time.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { Copier } from '../../copy/copier.js';
import { SessionFence } from '../../store/fence.js';
import { FencedWriter } from '../../store/fenced-writer.js';
import type { RereadSet } from '../../store/reread-set.js';
import { checkTaskWrite, type RisingTotals } from '../../store/state-rules.js';
import type { TaskRecord, TaskRecords } from '../../store/task-record.js';
import type { Runtime } from '../migration/runtime.js';
import type { ApplyStage } from './apply-stage.js';
import type { TaskTables } from './followed-collections.js';
import { copyStats, storedHotDocuments } from './task-stats.js';

/** The owner confirms its epoch at least this often, even when nothing changes. */
const confirm_ms = 10_000;
/**
 * After this long without an event, and with all events applied, the checkpoint only follows periodic no-ops of the
 * source: a restart would apply nothing again.
 */
const idle_ms = 10_000;
/** Interval of storing it then. */
const idleSave_ms = 5_000;
/** What the checkpoint of a sync task is made of. */
export interface CheckpointStages {
  runtime: Runtime;
  record: OwnedRecord;
  apply: ApplyStage;
  rereads: RereadSet;
  followed: TaskTables;
  copier: Pick<Copier, 'until'>;
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
    const { followed, apply } = this.stages;
    let lowest = this.#appliedBelow();
    const lower = (time: bigint | null) => {
      if (time !== null && time < lowest) lowest = time;
    };
    lower(apply.unknown.oldestWaiting);
    for (const table of followed.tables.values()) {
      for (const { state, readTime } of table.partitions)
        if (state === 'starting' || state === 'copying') lower(readTime);
    }
    return lowest;
  }

  /** Below it every event of the copied documents is durable; a long copy does not hold it back. */
  #appliedBelow(): bigint {
    const { apply, rereads } = this.stages;
    return this.#routedOr(earlier(apply.workers.oldest(), rereads.oldestPending()));
  }

  /** Events that wait for a DDL change of one collection do not hold back what is remembered of others. */
  #forgetReadings(): void {
    const { apply, rereads } = this.stages;
    const buffered = rereads.oldestPending();
    rereads.forgetReadings((uuid) => this.#routedOr(earlier(apply.workers.oldestOf(uuid), buffered)));
  }

  #routedOr(waiting: bigint | null): bigint {
    const next = this.stages.apply.dispatcher.position + 1n;
    return waiting !== null && waiting < next ? waiting : next;
  }

  /** Stores the checkpoint and confirms the ownership at intervals, until the stop signal. */
  async keep(stop: AbortSignal): Promise<void> {
    const { record } = this.stages;
    for (;;) {
      await this.#untilDue(stop);
      const moved = this.time() > this.#saved && (!this.#isIdle() || record.unconfirmed_ms >= idleSave_ms);
      if (!moved && !this.#hasJustCopied && record.unconfirmed_ms < confirm_ms) continue;
      await this.save();
    }
  }

  /** The end of the copy does not wait for the interval: the verifiers of all tasks do. */
  async #untilDue(stop: AbortSignal): Promise<void> {
    const { runtime, copier } = this.stages;
    const interval = (signal: AbortSignal) => runtime.clock.sleep(runtime.config.checkpoint_ms, signal);
    const copied = (signal: AbortSignal) => copier.until(() => this.#hasJustCopied, signal);
    await untilFirst(this.#copyDone ? [interval] : [interval, copied], stop);
  }

  get #hasJustCopied(): boolean {
    return !this.#copyDone && this.copyDone;
  }

  #isIdle(): boolean {
    const { runtime, apply } = this.stages;
    const { dispatcher, workers } = apply;
    const now_ms = runtime.clock.monotonic_ms();
    if (dispatcher.latest !== this.#latest || workers.oldest() !== null)
      [this.#latest, this.#latestAt_ms] = [dispatcher.latest, now_ms];
    return now_ms - this.#latestAt_ms >= idle_ms;
  }

  /** Whether everything is copied, documents to re-read of a copy in record order included. */
  get copyDone(): boolean {
    return this.stages.followed.copyDone && this.stages.rereads.ofRecordOrder === 0;
  }

  /** Stores the present checkpoint, with what is copied and applied by now. */
  async save(): Promise<void> {
    const { apply, followed, record, fleet } = this.stages;
    const time = this.time();
    const checkpoint = time > this.#saved ? time : this.#saved;
    const { copyDone } = this;
    const { copiedBytes, copiedDocuments } = copyStats(followed.tables.values());
    await record.update({
      checkpoint: timestampOf(checkpoint),
      lastWrite: timestampOf(apply.dispatcher.lastWrite),
      copied: { bytes: copiedBytes, documents: copiedDocuments },
      copyDone,
      eventsApplied: apply.eventsApplied,
      hotDocuments: storedHotDocuments(apply.workers.hotDocuments()),
    });
    this.#saved = checkpoint;
    if (copyDone && !this.#copyDone) fleet.wake();
    this.#copyDone = copyDone;
    this.#forgetReadings();
    apply.progressed.changed();
  }
}

/**
 * Sends nothing when the ownership is unconfirmed for this long: servers forget sessions, and with them the fence,
 * after 30 minutes.
 */
const unconfirmedMax_ms = 10 * 60_000;

/** The record of a task, which its owner changes under its epoch; every change confirms the ownership. */
export class OwnedRecord {
  #confirmed_ms: number;
  /** What is stored, as far as the rules of the state ask. */
  readonly #stored: RisingTotals;

  constructor(
    private readonly records: TaskRecords,
    private readonly task: TaskRecord,
    private readonly clock: Clock,
    private readonly hard: AbortSignal,
  ) {
    this.#confirmed_ms = clock.monotonic_ms();
    const { applyWatermark, acknowledged, eventsApplied } = task;
    this.#stored = { applyWatermark, acknowledged, eventsApplied };
  }

  /** Milliseconds since the ownership was last confirmed. */
  get unconfirmed_ms(): number {
    return this.clock.monotonic_ms() - this.#confirmed_ms;
  }

  /** @throws ConvoyError `staleEpoch` when another process owns the task */
  async confirm(): Promise<void> {
    await this.update({ epoch: this.task.epoch });
  }

  /**
   * A process that was frozen for long finds out here that it was replaced, before it sends anything.
   * @throws ConvoyError `staleEpoch` when another process owns the task
   */
  async confirmOverdue(): Promise<void> {
    if (this.unconfirmed_ms >= unconfirmedMax_ms) await this.confirm();
  }

  /** @throws ConvoyError `staleEpoch` when another process owns the task */
  async update(fields: Partial<TaskRecord>): Promise<void> {
    checkTaskWrite(this.#stored, fields);
    const asked_ms = this.clock.monotonic_ms();
    await this.records.update(this.task._id, this.task.epoch, fields, this.hard);
    this.#confirmed_ms = asked_ms;
    const { applyWatermark, acknowledged, eventsApplied } = { ...this.#stored, ...fields };
    Object.assign(this.#stored, { applyWatermark, acknowledged, eventsApplied });
  }
}

/** The writers of a sync task. Each stage has its own sessions, so that none waits for another's writes. */
export interface TaskWriters {
  copy: FencedWriter;
  apply: FencedWriter;
  reread: FencedWriter;
}

/**
 * Assigns the sessions of a task: one for re-reads, one to each apply worker, the rest to the copy.
 * @param owned confirms the ownership before a write
 */
export function taskWriters(
  destination: ClusterClient,
  { config, retrying }: Runtime,
  record: TaskRecord,
  owned: OwnedRecord,
): TaskWriters {
  const fence = new SessionFence(destination, retrying);
  const sessions = record.sessions.map((session) => session.value());
  const forWorkers = Math.max(1, Math.min(config.applyWorkers, sessions.length - 2));
  const confirm = () => owned.confirmOverdue();
  const writer = (from: number, to: number): FencedWriter =>
    new FencedWriter(
      destination.router,
      retrying,
      sessions.slice(from, to),
      record.epoch,
      confirm,
      fence,
      destination.kind === 'replicaSet',
    );
  return { reread: writer(0, 1), apply: writer(1, 1 + forWorkers), copy: writer(1 + forWorkers, sessions.length) };
}
