import { ApplyWorkers } from '../../apply/apply-workers.js';
import { EventDispatcher } from '../../apply/event-dispatcher.js';
import { presentOn } from '../../apply/find-present.js';
import { RecentWrites } from '../../apply/recent-writes.js';
import { timestampOf } from '../../cluster/cluster-time.js';
import { ApplyWatermark } from '../../store/apply-watermark.js';
import { type ByteBudget, Condition } from '../../async/waiting.js';
import type { ChangeEvent } from '../../store/change-event.js';
import type { RereadSet } from '../../store/reread-set.js';
import type { OwnedRecord } from './owned-record.js';
import type { SyncPipelineDependencies } from './pipeline-dependencies.js';
import { TaskStream } from './task-stream.js';
import type { TaskTables } from './task-tables.js';
import type { TaskWriters } from './task-writers.js';
import { UnknownCollections } from './unknown-collections.js';

/** What the stages of a sync task have in common. */
export interface TaskState {
  record: OwnedRecord;
  followed: TaskTables;
  rereads: RereadSet;
  /** Bounds the bytes of buffered events. */
  budget: ByteBudget;
  writers: TaskWriters;
}

/** The way of a sync task's changes: its stream, its dispatcher and its apply workers. */
export class ApplyStage {
  /** Signalled after every write batch and every checkpoint. */
  readonly progressed = new Condition();
  readonly unknown: UnknownCollections;
  readonly watermark: ApplyWatermark;
  readonly recentWrites: RecentWrites;
  readonly workers: ApplyWorkers;
  readonly dispatcher: EventDispatcher;
  readonly stream: TaskStream;
  #eventsApplied: number;

  /** @param startAt the first cluster time to read */
  constructor(
    private readonly deps: SyncPipelineDependencies,
    private readonly state: TaskState,
    startAt: bigint,
  ) {
    const { record, startTime, runtime } = deps;
    this.#eventsApplied = record.eventsApplied;
    this.recentWrites = new RecentWrites(runtime.clock);
    this.unknown = this.#makeUnknown();
    const watermark = record.applyWatermark?.toBigInt() ?? startTime - 1n;
    this.watermark = new ApplyWatermark(
      watermark,
      (time) => state.record.update({ applyWatermark: timestampOf(time) }),
      () => this.dispatcher.readBelow,
    );
    this.workers = this.#makeWorkers();
    this.dispatcher = this.#makeDispatcher(startAt, watermark);
    this.stream = new TaskStream(deps, this.dispatcher, this.workers, state.budget, startAt);
  }

  /** By this process and earlier ones. */
  get eventsApplied(): number {
    return this.#eventsApplied;
  }

  /** Whether everything up to a time is routed and durable, and all that an earlier process may have sent is read. */
  isQuietUpTo(time: bigint): boolean {
    const oldest = this.workers.oldest();
    return this.dispatcher.position >= time && this.dispatcher.readAgain && (oldest === null || oldest > time);
  }

  #makeUnknown(): UnknownCollections {
    const { record, fleet } = this.deps;
    const reported = record.unknown.filter(({ uuid }) => !this.state.followed.isKnown(uuid));
    return new UnknownCollections(reported, async (unknown) => {
      await this.state.record.update({ unknown });
      fleet.wake();
    });
  }

  #makeWorkers(): ApplyWorkers {
    const { runtime, destination } = this.deps;
    const { rereads, budget, writers } = this.state;
    return new ApplyWorkers(runtime.config.applyWorkers, {
      writer: writers.apply,
      findPresent: presentOn(destination.router, runtime.retrying),
      rereads,
      budget,
      applyWatermark: this.watermark,
      progressed: this.progressed,
      clock: runtime.clock,
      onApplied: (events) => {
        this.#eventsApplied += events;
        runtime.metrics.appliedEvents.inc(events);
      },
    });
  }

  #makeDispatcher(startAt: bigint, watermark: bigint): EventDispatcher {
    const { filter, record } = this.deps;
    const { followed, budget } = this.state;
    const { collections, tables } = followed;
    const deps = {
      collections,
      tables,
      applyWorkers: this.workers,
      budget,
      watermark,
      onUnknownCollection: (database: string, name: string, event: ChangeEvent) => {
        if (!followed.isKnown(event.uuid)) this.unknown.saw(database, name, event);
      },
      filter,
      recentWrites: this.recentWrites,
    };
    return new EventDispatcher(deps, startAt, record.lastWrite?.toBigInt() ?? 0n);
  }
}
