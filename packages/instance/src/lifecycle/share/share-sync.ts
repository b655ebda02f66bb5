import type { NamespacePart } from '@convoy/api/fleet/posts';
import { presentOn } from '../../apply/find-present.js';
import { Lanes } from '../../apply/lanes.js';
import { Router } from '../../apply/router.js';
import type { RawValue } from '../../bson/scan.js';
import { listCollections } from '../../catalog/read/list-namespaces.js';
import { secondsOf, timestampOf } from '../../cluster/cluster-time.js';
import { CollectionAbsentError } from '../../cluster/failure.js';
import { CappedEnds } from '../../copy/capped-end.js';
import { Copier } from '../../copy/copier.js';
import type { CopyContext } from '../../copy/copy-context.js';
import { CopyWidth } from '../../copy/copy-width.js';
import { ReadRate } from '../../copy/read-rate.js';
import { Repairer } from '../../repair/repairer.js';
import { Begun } from '../../store/begun.js';
import { ByteBudget } from '../../store/byte-budget.js';
import type { PartitionTable } from '../../store/partition-table.js';
import { type RepairEntry, RepairSet } from '../../store/repair-set.js';
import { runTogether } from '../../store/run-together.js';
import type { ShareRecord } from '../../store/share-record.js';
import { ShareStorage } from '../../store/share-storage.js';
import { Signalled } from '../../store/signalled.js';
import type { SyncedCollection } from '../../store/synced-collection.js';
import type { FollowedEntry } from './followed-catalog.js';
import { copiedTable, freshTable, storedTable } from './plan-partitions.js';
import { RepairRelief } from './repair-relief.js';
import { ShareCheckpoint } from './share-checkpoint.js';
import type { ShareCollection } from './share-collections.js';
import { ShareDefinitions } from './share-definitions.js';
import { copyFigures, type ShareFigures } from '../figures/share-figures.js';
import type { ShareSyncInput } from './share-input.js';
import { ShareStream } from './share-stream.js';
import { ShareTables } from './share-tables.js';
import { type ShareWriters, shareWriters } from './share-writers.js';
import { UnknownCollections } from './unknown-collections.js';

/** How often it is looked whether a share is drained: what it waits for is a few round trips away. */
const drainPoll_ms = 20;

/** Composes the stations of one share: stream and lanes, copy, repair, definition changes, and the checkpoint under them all. */
export class ShareSync {
  readonly definitions: ShareDefinitions;
  readonly #repairs: RepairSet;
  readonly #budget: ByteBudget;
  readonly #copyBudget: ByteBudget;
  readonly #storage: ShareStorage;
  readonly #progressed = new Signalled();
  readonly #followed: ShareTables;
  readonly #unknown: UnknownCollections;
  readonly #begun: Begun;
  readonly #writers: ShareWriters;
  readonly #lanes: Lanes;
  readonly #router: Router;
  readonly #stream: ShareStream;
  readonly #repairer: Repairer;
  readonly #copier: Copier;
  readonly #checkpoint: ShareCheckpoint;
  #eventsApplied: number;
  #commitTime: bigint | null = null;

  /** @param hard ends everything at once, writes in flight included */
  constructor(
    private readonly input: ShareSyncInput,
    private readonly hard: AbortSignal,
  ) {
    const { runtime, record, destination, metadata } = input;
    const startAt = record.checkpoint?.toBigInt() ?? input.startTime;
    this.#eventsApplied = record.eventsApplied;
    this.#budget = new ByteBudget(input.bytesMax / 2);
    this.#copyBudget = new ByteBudget(input.bytesMax / 2);
    this.#followed = new ShareTables(input.known);
    this.#storage = new ShareStorage(metadata, record._id, record.epoch, hard);
    this.#repairs = new RepairSet(this.#storage, this.#budget, input.doubtfulKeysMax);
    this.#unknown = this.#makeUnknown();
    this.#writers = shareWriters(destination, runtime.retrying, record, runtime.config.lanes, () => this.#checkpoint.confirmOwner());
    const begunBefore = record.begun?.toBigInt() ?? input.startTime - 1n;
    const saveBegun = (time: bigint): Promise<void> => this.#checkpoint.update({ begun: timestampOf(time) });
    this.#begun = new Begun(begunBefore, saveBegun, () => this.#router.readBelow);
    this.#lanes = this.#makeLanes();
    this.#router = this.#makeRouter(startAt, begunBefore);
    this.#stream = new ShareStream(input, { router: this.#router, budget: this.#budget }, startAt);
    this.#repairer = this.#makeRepairer();
    this.#copier = new Copier([], this.#copyContext());
    this.#checkpoint = this.#makeCheckpoint(startAt);
    this.definitions = this.#makeDefinitions();
  }

  get shareId(): string {
    return this.input.record._id;
  }

  get epoch(): number {
    return this.input.record.epoch;
  }

  /** Claims the durable state of the share; partitions are planned the first time. */
  async prepare(signal: AbortSignal): Promise<void> {
    const { collections, undone } = this.input;
    const { partitions, repairs } = await this.#storage.claim(collections.map(({ copy }) => copy));
    for (const share of collections) {
      const stored = partitions.get(share.copy);
      const save = this.#storage.saverOf(share.copy);
      const table = stored === undefined ? await this.#planFirst(share, signal) : storedTable(share, stored, save);
      this.#followed.add(share, table);
      this.#copier.add(table);
    }
    this.#repairs.restore(repairs, this.#followed.collections);
    this.definitions.learn(undone);
  }

  /** Runs all stations until the stop signal; rejects with the first failure. What is in flight is finished. */
  async run(stop: AbortSignal): Promise<void> {
    try {
      const stations = [
        (signal: AbortSignal) => this.#stream.run(signal),
        (signal: AbortSignal) => this.#lanes.run(signal, this.hard),
        (signal: AbortSignal) => this.#repairer.run(signal, this.hard),
        (signal: AbortSignal) => this.#copier.run(signal, this.hard),
        (signal: AbortSignal) => this.#unknown.run(signal),
        (signal: AbortSignal) => this.#checkpoint.keep(signal),
      ];
      await runTogether(stop, stations, this.input.onFailure);
    } catch (error) {
      if (!stop.aborted) throw error;
    }
    await this.#checkpoint.save();
  }

  /** What is copied of each collection. */
  namespaceParts(): NamespacePart[] {
    return this.#followed.namespaceParts();
  }

  /** Sets the time below which all definition changes are known and heeded; a smaller one changes nothing. */
  setHorizon(time: bigint): void {
    this.#router.setHorizon(time);
  }

  /** Sets the commit time: nothing later is applied unless a later one is set. */
  setCeiling(time: bigint): void {
    this.#commitTime = time;
    this.#router.setCeiling(time);
    this.#copier.limitTo(time);
  }

  /**
   * Has documents read anew that differ, as far as the share has a part in their collection.
   * @param copy name of the collection's copy
   * @returns false once a commit time is set: up to it all shares drain
   */
  async readAnew(copy: string, ids: readonly RawValue[], signal: AbortSignal): Promise<boolean> {
    if (this.#commitTime !== null) return false;
    const collection = this.#followed.collectionOf(copy);
    if (collection === null) return true;
    const keys = ids.map((id) => ({ collection, id, reason: 'mismatch' as const, time: 0n }));
    await this.#repairs.addAside(keys, () => this.#lanes.flushed(this.#router.latest, signal));
    return true;
  }

  /** Stores that the share has let go of what all entries of the journal up to an ordinal are about. */
  async consent(ordinal: number): Promise<void> {
    await this.#checkpoint.update({ consented: ordinal });
  }

  /**
   * Resolves once everything up to the commit time is durable on the destination, nothing is in doubt, all definition
   * changes up to it are done, and the checkpoint lies past it. What a later definition change lets nobody read at the
   * commit time is not waited for: another one follows.
   * @param isSuperseded whether this commit time counts no more: it may be too old for the source to be read at, or the source gone
   * @returns false when it is not drained because it counts no more
   */
  async drain(time: bigint, isSuperseded: () => boolean, signal: AbortSignal): Promise<boolean> {
    this.setCeiling(time);
    while (!this.#isQuietUpTo(time)) {
      if (isSuperseded()) return false;
      await this.input.runtime.clock.sleep(drainPoll_ms, signal);
    }
    await this.#checkpoint.save();
    return true;
  }

  #isQuietUpTo(time: bigint): boolean {
    const oldest = this.#lanes.oldest();
    const routed = this.#router.position >= time && this.#router.readAgain && (oldest === null || oldest > time);
    const defined = this.definitions.doneUpTo(time) && this.#unknown.size === 0;
    return routed && defined && !this.#repairs.anyUpTo(time) && this.#followed.copyDoneUpTo(time);
  }

  figures(): ShareFigures {
    const { sourceTime, readBelow, writesAboveCeiling } = this.#router;
    const behind = (time: bigint): number => Math.max(0, secondsOf(sourceTime) - secondsOf(time));
    return {
      ...copyFigures(this.#followed.tables.values()),
      copyDone: this.#followed.copyDone,
      eventsApplied: this.#eventsApplied,
      followsStream: this.#stream.isFollowed,
      lag_seconds: behind(this.#checkpoint.time()),
      readLag_seconds: behind(readBelow),
      readBelow,
      doubtfulKeys: this.#repairs.size,
      bufferedBytes: this.#budget.used + this.#copyBudget.used,
      deletedAboveCeiling: writesAboveCeiling.deletedIn,
      writesAboveCeiling: writesAboveCeiling.writes + (this.#commitTime === null ? 0 : this.#followed.readingsAbove(this.#commitTime)),
    };
  }

  #makeUnknown(): UnknownCollections {
    const reported = this.input.record.unknown.filter(({ uuid }) => !this.#followed.isKnown(uuid));
    return new UnknownCollections(reported, async (unknown) => {
      await this.#checkpoint.update({ unknown });
      this.input.nudge();
    });
  }

  #makeLanes(): Lanes {
    const { runtime, destination } = this.input;
    return new Lanes(runtime.config.lanes, {
      writer: this.#writers.apply,
      findPresent: presentOn(destination.router, runtime.retrying),
      repairs: this.#repairs,
      budget: this.#budget,
      begun: this.#begun,
      progressed: this.#progressed,
      onApplied: (events) => {
        this.#eventsApplied += events;
        runtime.metrics.appliedEvents.inc(events);
      },
    });
  }

  #makeRouter(startAt: bigint, begunBefore: bigint): Router {
    const { collections, tables } = this.#followed;
    const context = {
      collections,
      tables,
      lanes: this.#lanes,
      budget: this.#budget,
      begunBefore,
      onUnknownCollection: (...[database, name, event]: Parameters<UnknownCollections['saw']>) => {
        if (!this.#followed.isKnown(event.uuid)) this.#unknown.saw(database, name, event);
      },
      includes: this.input.includes,
    };
    return new Router(context, startAt, this.input.record.lastWrite?.toBigInt() ?? 0n);
  }

  #makeRepairer(): Repairer {
    const { runtime, source, destination } = this.input;
    const relief = new RepairRelief({
      repairs: this.#repairs,
      clock: runtime.clock,
      tables: this.#followed.tables,
      latest: () => this.#router.latest,
      hasLetGo: (uuid) => this.definitions.hasLetGo(uuid),
      isTaken: (partition) => this.#copier.isTaken(partition),
      onReopened: () => this.#copier.reopened(),
    });
    return new Repairer({
      shard: source.shareDoor(this.input.shardId),
      source: source.router,
      destination: destination.router,
      writer: this.#writers.repair,
      repairs: this.#repairs,
      begun: this.#begun,
      retrying: runtime.retrying,
      clock: runtime.clock,
      position: () => this.#router.position,
      untilRouted: (time, signal) => this.#stream.untilRouted(time, signal),
      untilNamed: (collection, signal) => this.#untilNamed(collection, signal),
      mayRead: (entry) => this.#mayRead(entry),
      givenUp: () => relief.next(),
      release: (entry) => {
        runtime.metrics.repairs.inc({ reason: entry.reason });
        this.#lanes.pushFirst(entry.held.map((event) => this.#router.routedAfterRepair(event, entry.collection)));
      },
    });
  }

  #copyContext(): CopyContext {
    const { runtime, source } = this.input;
    return {
      shard: source.shareDoor(this.input.shardId),
      writer: this.#writers.copy,
      repairs: this.#repairs,
      retrying: runtime.retrying,
      clock: runtime.clock,
      rate: new ReadRate(runtime.clock, runtime.config.loadRateBytesPerSecond ?? null),
      budget: this.#copyBudget,
      position: () => this.#router.position,
      untilReady: (signal) => this.#router.moved.until(() => this.#stream.isNear, signal),
      untilRouted: (time, signal) => this.#stream.untilRouted(time, signal),
      untilNamed: (collection, signal) => this.#untilNamed(collection, signal),
      untilFlushed: (time, signal) => this.#lanes.flushed(time, signal),
      release: (table, events) => this.#router.release(table, events),
      cappedEnds: new CappedEnds({ budget: this.#budget, untilRoutedOrFull: (time, signal) => this.#stream.untilRoutedOrFull(time, signal) }),
      recreate: (uuid, signal) => this.#recreate(uuid, signal),
      partition_seconds: runtime.config.partition_seconds,
      readers: runtime.config.readers,
      width: new CopyWidth(runtime.clock, runtime.config),
    };
  }

  #makeCheckpoint(startAt: bigint): ShareCheckpoint {
    const { runtime, records } = this.input;
    const stations = {
      runtime,
      router: this.#router,
      lanes: this.#lanes,
      repairs: this.#repairs,
      followed: this.#followed,
      unknown: this.#unknown,
      progressed: this.#progressed,
      figures: () => this.figures(),
      update: (set: Partial<ShareRecord>) => records.update(this.shareId, this.epoch, set, this.hard),
    };
    return new ShareCheckpoint(stations, startAt);
  }

  #makeDefinitions(): ShareDefinitions {
    return new ShareDefinitions({
      followed: this.#followed,
      unknown: this.#unknown,
      lanes: this.#lanes,
      copier: this.#copier,
      repairer: this.#repairer,
      repairs: this.#repairs,
      storage: this.#storage,
      begin: (followed, signal) => this.#follow(followed, signal),
    });
  }

  /** Begins to copy a collection. What was routed so far is not known of it, so that no reading may be earlier. */
  async #follow(followed: FollowedEntry, signal: AbortSignal): Promise<void> {
    const share = this.input.shareOf(followed);
    if (share === null) return;
    await this.#storage.claimCopies([share.copy]);
    const table = await this.#plan(share, signal);
    for (const partition of table.partitions) partition.dropped = this.#router.latest;
    this.#followed.add(share, table);
    this.#copier.add(table);
  }

  /** A collection that the migration began with is followed under its UUID; one that was made anew since has another name for its copy. */
  async #planFirst(share: ShareCollection, signal: AbortSignal): Promise<PartitionTable> {
    const isCopied = this.input.beginsCopied && share.copy === share.entry.uuid;
    return isCopied ? copiedTable(share, this.input.startTime, this.#storage.saverOf(share.copy)) : this.#plan(share, signal);
  }

  #plan(share: ShareCollection, signal: AbortSignal) {
    return freshTable(share, this.input.source.shareDoor(this.input.shardId), this.input.runtime, this.#storage.saverOf(share.copy), signal);
  }

  async #recreate(uuid: string, signal: AbortSignal): Promise<void> {
    const share = this.#followed.shareOf(uuid);
    if (share !== null) await this.input.recreate(share.entry, () => this.#checkpoint.save(), signal);
  }

  /** Beyond the commit time nobody is told of definition changes: there the name itself is asked for once more. */
  async #untilNamed({ database, name, uuid }: SyncedCollection, signal: AbortSignal): Promise<void> {
    if (await this.#stream.untilKnown(signal)) return;
    const { runtime, source } = this.input;
    const listed = await runtime.retrying('look a name up', () => listCollections(source.router, database, signal, name), signal);
    if (!listed.some((one) => one.uuid === uuid)) throw new CollectionAbsentError(`${database}.${name} is another collection by now, or none`);
  }

  /**
   * Only what is copied can be repaired, not while it is let go of, and not at a time before that copy, before its present
   * name, or before what an earlier process had applied.
   */
  #mayRead({ collection, id }: RepairEntry): boolean {
    const partition = this.#followed.tables.get(collection.uuid)?.find(id);
    if (partition?.state !== 'done' || !this.#router.replayed || this.definitions.hasLetGo(collection.uuid)) return false;
    return (partition.readTime ?? 0n) <= this.#router.position && collection.notBefore <= this.#router.position;
  }
}
