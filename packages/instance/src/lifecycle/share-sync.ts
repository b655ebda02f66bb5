import { Lanes } from '../apply/lanes.js';
import type { DefinitionEvent } from '../apply/event.js';
import { Router } from '../apply/router.js';
import { ShardStream } from '../apply/stream.js';
import { secondsOf, timestampOf, wakeStream } from '../cluster/cluster-time.js';
import type { Cluster } from '../cluster/door.js';
import { Copier } from '../copy/copier.js';
import type { CopyContext } from '../copy/copy-context.js';
import { ReadRate } from '../copy/read-rate.js';
import { startingPoints } from '../copy/starting-points.js';
import { Repairer } from '../repair/repairer.js';
import { Begun } from '../store/begun.js';
import { ByteBudget } from '../store/byte-budget.js';
import type { Metadata } from '../store/metadata.js';
import { type PartitionState, PartitionTable } from '../store/partition-table.js';
import { type RepairEntry, RepairSet } from '../store/repair-set.js';
import { runTogether } from '../store/run-together.js';
import type { ShareRecord, ShareRecords } from '../store/share-record.js';
import { ShareStorage } from '../store/share-storage.js';
import { Signalled } from '../store/signalled.js';
import type { Runtime } from './runtime.js';
import type { ShareCollection } from './share-collections.js';
import { type ShareWriters, shareWriters } from './share-writers.js';

/** What a share's sync needs to begin or to go on. */
export interface ShareSyncInput {
  runtime: Runtime;
  source: Cluster;
  destination: Cluster;
  metadata: Metadata;
  records: ShareRecords;
  record: ShareRecord;
  collections: ShareCollection[];
  startTime: bigint;
  /** Bytes that the buffers of this share may hold. */
  bytesMax: number;
  onDefinition: (event: DefinitionEvent) => void;
  onUnknownCollection: (database: string, name: string, uuid: string) => void;
  includes: (database: string, name: string) => boolean;
  recreate: (uuid: string, signal: AbortSignal) => Promise<void>;
}

/** A new partition waits while the stream is further behind than this. */
const streamBehind_seconds = 60;
/** Even when nothing has changed, the owner confirms its epoch this often. */
const confirm_ms = 10_000;
/** Nothing is sent when the ownership was not confirmed for this long: servers forget sessions, and with them the fence, after 30 minutes. */
const ownerUnconfirmedMax_ms = 10 * 60_000;

/** How often it is looked whether a share is drained: what it waits for is a few round trips away. */
const drainPoll_ms = 20;

/** The figures of a share for progress. */
export interface ShareFigures {
  copiedBytes: number;
  copiedDocuments: number;
  copyDone: boolean;
  eventsApplied: number;
  /** The stream has said where it is since this process follows it: only then the lag means something. */
  followsStream: boolean;
  lag_seconds: number;
  doubtfulKeys: number;
  bufferedBytes: number;
  partitions: Record<PartitionState, number>;
  writesAboveCeiling: number;
}

/** Composes the stations of one share: stream and lanes, copy, repair, and the checkpoint under them all. */
export class ShareSync {
  readonly #repairs: RepairSet;
  readonly #budget: ByteBudget;
  readonly #storage: ShareStorage;
  readonly #progressed = new Signalled();
  readonly #tables = new Map<string, PartitionTable>();
  readonly #begun: Begun;
  readonly #writers: ShareWriters;
  readonly #lanes: Lanes;
  readonly #router: Router;
  readonly #startAt: bigint;
  readonly #rate: ReadRate;
  readonly #copyBudget: ByteBudget;
  #eventsApplied: number;
  #savedCheckpoint: bigint;
  /** When the share's epoch was last found to be the own one. */
  #confirmed_ms: number;

  /** @param hard ends everything at once, writes in flight included */
  constructor(
    private readonly input: ShareSyncInput,
    private readonly hard: AbortSignal,
  ) {
    const { runtime, record, destination, metadata } = input;
    this.#startAt = record.checkpoint?.toBigInt() ?? input.startTime;
    this.#savedCheckpoint = this.#startAt;
    this.#eventsApplied = record.eventsApplied;
    this.#budget = new ByteBudget(input.bytesMax / 2);
    this.#copyBudget = new ByteBudget(input.bytesMax / 2);
    this.#rate = new ReadRate(runtime.clock, runtime.config.loadRateBytesPerSecond ?? null);
    this.#storage = new ShareStorage(metadata, record._id, record.epoch, hard);
    this.#repairs = new RepairSet(this.#storage, this.#budget);
    this.#confirmed_ms = runtime.clock.monotonic_ms();
    this.#writers = shareWriters(destination.router, runtime.retrying, record, runtime.config.lanes, () => this.#confirmOwner());
    const begunBefore = record.begun?.toBigInt() ?? input.startTime - 1n;
    const saveBegun = (time: bigint): Promise<void> => this.#update({ begun: timestampOf(time) });
    this.#begun = new Begun(begunBefore, saveBegun, () => this.#router.readBelow);
    this.#lanes = new Lanes(runtime.config.lanes, {
      writer: this.#writers.apply,
      repairs: this.#repairs,
      budget: this.#budget,
      begun: this.#begun,
      progressed: this.#progressed,
      onApplied: (events) => {
        this.#eventsApplied += events;
        runtime.metrics.appliedEvents.inc(events);
      },
    });
    this.#router = new Router(
      {
        collections: new Map(input.collections.map(({ collection }) => [collection.uuid, collection])),
        tables: this.#tables,
        lanes: this.#lanes,
        budget: this.#budget,
        begunBefore,
        onDefinition: input.onDefinition,
        onUnknownCollection: input.onUnknownCollection,
        includes: input.includes,
      },
      this.#startAt,
      record.lastWrite?.toBigInt() ?? 0n,
    );
  }

  get shareId(): string {
    return this.input.record._id;
  }

  get epoch(): number {
    return this.input.record.epoch;
  }

  /** Claims the durable state of the share; partitions are planned the first time. */
  async prepare(signal: AbortSignal): Promise<void> {
    const { partitions, repairs } = await this.#storage.claim(this.input.collections.map(({ collection }) => collection.uuid));
    for (const { collection, range, sizeBytes, seenPerOwned } of this.input.collections) {
      const stored = partitions.get(collection.uuid);
      if (stored === undefined) {
        const door = this.input.source.shareDoor(this.shareId);
        const { readers } = this.input.runtime.config;
        const sample = () => startingPoints(door, collection, { sizeBytes, seenPerOwned, range, startsMax: readers }, signal);
        const starts = await this.input.runtime.retrying('sample _ids', sample, signal);
        this.#tables.set(collection.uuid, PartitionTable.fresh(collection, starts, this.#storage.savePartitions, range));
      } else {
        this.#tables.set(collection.uuid, PartitionTable.restored(collection, stored, this.#storage.savePartitions));
      }
    }
    this.#repairs.restore(repairs, new Map(this.input.collections.map(({ collection }) => [collection.uuid, collection])));
  }

  /** Runs all stations until the stop signal; rejects with the first failure. What is in flight is finished. */
  async run(stop: AbortSignal): Promise<void> {
    try {
      await runTogether(stop, [
        (signal) => this.#readStream(signal),
        (signal) => this.#lanes.run(signal, this.hard),
        (signal) => this.#repairer().run(signal, this.hard),
        (signal) => this.#copier().run(signal, this.hard),
        (signal) => this.#keepCheckpoint(signal),
      ]);
    } catch (error) {
      if (!stop.aborted) throw error;
    }
    await this.#saveCheckpoint();
  }

  /** Sets the commit time: nothing later is applied unless a later one is set. */
  setCeiling(time: bigint): void {
    this.#router.setCeiling(time);
  }

  /**
   * Resolves once everything up to the commit time is durable on the destination, nothing is in doubt, and the
   * checkpoint lies past it.
   */
  async drain(time: bigint, signal: AbortSignal): Promise<void> {
    this.setCeiling(time);
    while (!this.#isQuietUpTo(time)) await this.input.runtime.clock.sleep(drainPoll_ms, signal);
    await this.#saveCheckpoint();
  }

  #isQuietUpTo(time: bigint): boolean {
    const oldest = this.#lanes.oldest();
    const routed = this.#router.position >= time && this.#router.readAgain && (oldest === null || oldest > time);
    return routed && this.#repairs.size === 0 && this.#copyDone();
  }

  figures(): ShareFigures {
    let copiedBytes = 0;
    let copiedDocuments = 0;
    const partitions = { waiting: 0, starting: 0, copying: 0, done: 0 };
    for (const table of this.#tables.values()) {
      for (const partition of table.partitions) {
        copiedBytes += partition.bytes;
        copiedDocuments += partition.documents;
        partitions[partition.state] += 1;
      }
    }
    const behind = secondsOf(this.#router.sourceTime) - secondsOf(this.#checkpoint());
    return {
      copiedBytes,
      copiedDocuments,
      copyDone: this.#copyDone(),
      eventsApplied: this.#eventsApplied,
      followsStream: this.#followsStream(),
      lag_seconds: Math.max(0, behind),
      doubtfulKeys: this.#repairs.size,
      bufferedBytes: this.#budget.used + this.#copyBudget.used,
      partitions,
      writesAboveCeiling: this.#router.writesAboveCeiling,
    };
  }

  #copyDone(): boolean {
    for (const table of this.#tables.values()) if (!table.done) return false;
    return true;
  }

  async #readStream(stop: AbortSignal): Promise<void> {
    const { runtime, source } = this.input;
    await this.#wakeStream(stop);
    const stream = new ShardStream(source.shareDoor(this.shareId), source.version, runtime.retrying, this.#startAt);
    try {
      for (;;) {
        await this.#budget.untilFree(stop);
        const step = await stream.next(stop);
        runtime.metrics.readEvents.inc(step.events.length);
        this.#router.route(step);
      }
    } finally {
      await stream.close();
    }
  }

  /** An idle shard would say where its stream is only with the server's next tick. */
  async #wakeStream(signal: AbortSignal): Promise<void> {
    const { runtime, source } = this.input;
    await runtime.retrying('append an oplog note', () => wakeStream(source, this.shareId, { signal }), signal);
  }

  #repairer(): Repairer {
    const { runtime, source, destination } = this.input;
    return new Repairer({
      shard: source.shareDoor(this.shareId),
      source: source.router,
      destination: destination.router,
      writer: this.#writers.repair,
      repairs: this.#repairs,
      begun: this.#begun,
      retrying: runtime.retrying,
      clock: runtime.clock,
      position: () => this.#router.position,
      untilRouted: (time, signal) => this.#untilRouted(time, signal),
      mayRead: (entry) => this.#mayRead(entry),
      release: (entry) => {
        runtime.metrics.repairs.inc({ reason: entry.reason });
        this.#lanes.pushFirst(entry.held.map((event) => this.#router.routedAfterRepair(event, entry.collection)));
      },
    });
  }

  #copier(): Copier {
    const { runtime, source } = this.input;
    const context: CopyContext = {
      shard: source.shareDoor(this.shareId),
      writer: this.#writers.copy,
      repairs: this.#repairs,
      retrying: runtime.retrying,
      clock: runtime.clock,
      rate: this.#rate,
      budget: this.#copyBudget,
      position: () => this.#router.position,
      untilReady: (signal) => this.#router.moved.until(() => this.#streamIsNear(), signal),
      untilRouted: (time, signal) => this.#untilRouted(time, signal),
      untilFlushed: (time, signal) => this.#lanes.flushed(time, signal),
      release: (table, events) => this.#router.release(table, events),
      discard: (events) => {
        for (const event of events) this.#budget.give(event.bytes);
      },
      recreate: this.input.recreate,
      partition_seconds: runtime.config.partition_seconds,
      readers: runtime.config.readers,
    };
    return new Copier([...this.#tables.values()], context);
  }

  /** Only what is copied can be repaired, and not at a time before that copy or before what an earlier process had applied. */
  #mayRead(entry: RepairEntry): boolean {
    const partition = this.#tables.get(entry.collection.uuid)?.find(entry.id);
    if (partition?.state !== 'done' || !this.#router.replayed) return false;
    return partition.readTime === null || partition.readTime <= this.#router.position;
  }

  /** The last event of a shard that falls idle is passed by the position only with the next tick: a note brings it at once. */
  async #untilRouted(time: bigint, signal: AbortSignal): Promise<void> {
    if (this.#router.position >= time) return;
    await this.#wakeStream(signal);
    await this.#router.moved.until(() => this.#router.position >= time, signal);
  }

  #followsStream(): boolean {
    return this.#router.position >= this.#startAt;
  }

  /** The stream has said where it is, and that is not far behind the source. */
  #streamIsNear(): boolean {
    if (!this.#followsStream()) return false;
    return secondsOf(this.#router.sourceTime) - secondsOf(this.#router.readBelow) <= streamBehind_seconds;
  }

  /** The smallest of: the first event not yet durable, and the reading time of every partition being copied. */
  #checkpoint(): bigint {
    let lowest = this.#router.position + 1n;
    const lower = (time: bigint | null): void => {
      if (time !== null && time < lowest) lowest = time;
    };
    lower(this.#lanes.oldest());
    lower(this.#repairs.oldestHeld());
    for (const table of this.#tables.values()) {
      for (const { state, readTime } of table.partitions) if (state === 'starting' || state === 'copying') lower(readTime);
    }
    return lowest;
  }

  async #keepCheckpoint(stop: AbortSignal): Promise<void> {
    const { clock, config } = this.input.runtime;
    for (;;) {
      await clock.sleep(config.checkpoint_ms, stop);
      const moved = this.#checkpoint() > this.#savedCheckpoint;
      if (!moved && clock.monotonic_ms() - this.#confirmed_ms < confirm_ms) continue;
      await this.#saveCheckpoint();
    }
  }

  async #saveCheckpoint(): Promise<void> {
    const time = this.#checkpoint();
    const checkpoint = time > this.#savedCheckpoint ? time : this.#savedCheckpoint;
    const { copiedBytes, copiedDocuments, copyDone, eventsApplied } = this.figures();
    const copied = { bytes: copiedBytes, documents: copiedDocuments };
    const lastWrite = timestampOf(this.#router.lastWrite);
    await this.#update({ checkpoint: timestampOf(checkpoint), lastWrite, copied, copyDone, eventsApplied });
    this.#savedCheckpoint = checkpoint;
    this.#repairs.forgetReadings(checkpoint);
    this.#progressed.changed();
  }

  /** A process that was frozen for long finds out here that it has been replaced, before it sends anything. */
  async #confirmOwner(): Promise<void> {
    if (this.input.runtime.clock.monotonic_ms() - this.#confirmed_ms < ownerUnconfirmedMax_ms) return;
    await this.#saveCheckpoint();
  }

  async #update(set: Partial<ShareRecord>): Promise<void> {
    const asked_ms = this.input.runtime.clock.monotonic_ms();
    await this.input.records.update(this.shareId, this.input.record.epoch, set, this.hard);
    this.#confirmed_ms = asked_ms;
  }
}
