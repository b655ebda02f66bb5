import { runTogether } from '../../async/together.js';
import { SerialQueue } from '../../async/waiting.js';
import type { Catalog } from '../../catalog/namespace.js';
import {
  highestTime,
  noteEachShard,
  operationTimes,
  timeOf,
  timestampOf,
  wakeStreams,
} from '../../cluster/cluster-time.js';
import type { CallOptions, ClusterClient } from '../../cluster/node-client.js';
import { DdlLedger } from '../../ddl/ddl-ledger.js';
import { DdlTracker } from '../../ddl/ddl-tracker.js';
import { DdlWatcher } from '../../ddl/ddl-watcher.js';
import type { LedDestination } from '../../ddl/destination-collections.js';
import { arrivedOf, SourceNames, takeUnknown } from '../../ddl/unknown-collections.js';
import { UuidPairs } from '../../store/ddl-journal.js';
import type { MigrationRecord } from '../../store/migration-record.js';
import { keepsBalancer } from '../../store/reversal.js';
import { readStartCatalog } from '../migration/migration-catalogs.js';
import { filterOf, type LeaderDependencies, remapOf } from '../migration/migration-dependencies.js';
import { IdleTasks } from '../../store/migration-view.js';
import { skipping, watchForBuilds } from './builds.js';
import { JournalApplier } from './journal-applier.js';
import { ReconciledCatalogs } from './reconciled-catalogs.js';

/**
 * Idle shards hold the DDL watermark back. After this long without progress, the leader checks whether to wake them.
 */
const wake_ms = 500;
/** The same while no task has anything to do. */
const idleWake_ms = 1_000;
/** The leader reads the tasks' records for unknown collections this often; the fleet also announces them. */
const unknown_ms = 200;
/** From this release on, one shard reports a drop or rename for all (SERVER-71085, SERVER-71365). */
const oneCopyRelease = 7;

/** The leader's part in DDL changes: it finds them, has all tasks acknowledge them, and applies them. */
export class DdlLeader {
  readonly #source: SourceNames;
  readonly #watcher: DdlWatcher;
  readonly #watermark: StoredWatermark;
  readonly #applier: JournalApplier;
  readonly #catalogs: ReconciledCatalogs;
  readonly #idle: IdleTasks;

  private constructor(
    private readonly deps: LeaderDependencies,
    record: MigrationRecord,
    private readonly ledger: DdlLedger,
    destination: LedDestination,
  ) {
    const { runtime, source, watch } = deps;
    this.#source = new SourceNames(source, runtime.retrying);
    this.#idle = new IdleTasks(watch, runtime.clock);
    const startAt = timeOf(record.ddlWatermark?.time ?? record.startTime ?? timestampOf(0n));
    this.#watcher = new DdlWatcher(this.#tracker(), source, runtime.retrying, this.#idle, startAt, runtime);
    const commitTime = record.commit === null ? null : timeOf(record.commit.time);
    this.#watermark = new StoredWatermark(deps, this.#watcher, commitTime);
    this.#applier = new JournalApplier(deps, ledger, destination);
    const journal = {
      ledger,
      watcher: this.#watcher,
      applier: this.#applier,
      add: (...change: Parameters<DdlLedger['add']>) => this.#add(...change),
    };
    this.#catalogs = new ReconciledCatalogs(deps, journal, destination);
  }

  /** Takes the journal over from earlier leaders, which can no longer write to it. */
  static async take(deps: LeaderDependencies, signal: AbortSignal): Promise<DdlLeader> {
    const { metadata, records, watch, journal, leaderEpoch } = deps;
    await journal.claim(leaderEpoch, signal);
    const { record } = await watch.refresh(signal);
    const ddlChanges = await journal.readAfter(0, record.ddlChanges.known, signal);
    const ledger = new DdlLedger(journal, leaderEpoch, await readStartCatalog(deps, signal), ddlChanges);
    await records.raiseDdlChanges(leaderEpoch, { done: ledger.done }, signal);
    return new DdlLeader(deps, record, ledger, {
      destination: deps.destination,
      pairs: await UuidPairs.read(metadata, leaderEpoch, signal),
      // Also stops a leader that was frozen: one with an old epoch changes nothing.
      confirm: (each) => records.raiseDdlChanges(leaderEpoch, { done: ledger.done }, each),
      skip: skipping(deps),
      builds: deps.builds,
    });
  }

  /** Follows DDL changes until the signal aborts; rejects with the first failure. */
  async run(stop: AbortSignal): Promise<void> {
    const filter = filterOf(this.deps.watch.view.record);
    await runTogether(stop, [
      (signal) => this.#watcher.run(signal),
      (signal) => this.#applier.run(signal),
      (signal) => this.#watermark.run(signal),
      (signal) => this.#wakeShards(signal),
      (signal) => this.#takeUnknown(signal),
      (signal) => this.#catalogs.run(signal),
      (signal) => watchForBuilds(this.deps, filter, () => this.#catalogs.compareSoon(), signal),
    ]);
  }

  /**
   * Stores no later DDL watermark until tasks can know of the commit time that is about to be taken. Otherwise tasks
   * that do not know of it yet would dispatch events above it.
   */
  holdDdlWatermark(): void {
    this.#watermark.hold();
  }

  /**
   * Resolves once all DDL changes up to a commit time are known, the journal is applied, and the stored DDL watermark
   * is above it. Stores no later watermark until a later one counts.
   */
  async untilApplied(time: bigint, signal: AbortSignal): Promise<void> {
    await this.#watermark.setCommitTime(time, signal);
    await this.#watcher.untilKnown(time, signal);
    await this.ledger.changed.until(() => this.ledger.next === undefined, signal);
    await this.#watermark.store(signal);
  }

  /** Whether the journal has an entry above a time, or one that is not applied. */
  changedAfter(time: bigint): boolean {
    return this.ledger.next !== undefined || this.ledger.latest > time;
  }

  /** As `ReconciledCatalogs.readSource`. */
  readSource(signal: AbortSignal): Promise<Catalog> {
    return this.#catalogs.readSource(signal);
  }

  /** As `ReconciledCatalogs.compare`. */
  compare(...[signal, onIndexProgress]: Parameters<ReconciledCatalogs['compare']>): Promise<boolean> {
    return this.#catalogs.compare(signal, onIndexProgress);
  }

  #tracker(): DdlTracker {
    const { runtime, source, watch } = this.deps;
    const { record } = watch.view;
    return new DdlTracker({
      ledger: this.ledger,
      filter: filterOf(record),
      remap: remapOf(record),
      showsEachCopy: source.version[0] < oneCopyRelease,
      keepsBalancer: keepsBalancer(record),
      shardsReplicaSet: record.options.sharding !== undefined,
      clock: runtime.clock,
      source: this.#source,
      onTrigger: () => this.#catalogs.compareSoon(),
    });
  }

  async #add(...[judge, signal]: Parameters<DdlLedger['add']>): Promise<void> {
    await this.ledger.add(judge, signal);
    this.deps.fleet.wake();
  }

  async #wakeShards(signal: AbortSignal): Promise<void> {
    const { runtime, source } = this.deps;
    const waker = new ShardWaker(source);
    for (;;) {
      const before = this.#watcher.ddlWatermark;
      await runtime.clock.sleep(this.#idle.isIdle() ? idleWake_ms : wake_ms, signal);
      if (this.#watcher.ddlWatermark !== before) continue;
      await runtime.retrying('wake idle shards', () => waker.wake(before, { signal }), signal);
    }
  }

  async #takeUnknown(signal: AbortSignal): Promise<void> {
    const { runtime, watch } = this.deps;
    const taking = {
      ledger: this.ledger,
      filter: filterOf(watch.view.record),
      source: this.#source,
      watcher: this.#watcher,
      add: (...change: Parameters<DdlLedger['add']>) => this.#add(...change),
    };
    for (;;) {
      const arrived = await arrivedOf(taking, this.#watcher.arriving, signal);
      const reported = [...watch.view.tasks.values()].flatMap((task) => task.unknown);
      await takeUnknown(taking, [...arrived, ...reported], signal);
      await runtime.clock.sleep(unknown_ms, signal);
    }
  }
}

/** The leader stores the DDL watermark at most this often, though streams advance faster while a commit waits. */
const store_ms = 40;

/** The DDL watermark as the tasks may know it: the leader stores it, and none beyond the present commit time. */
export class StoredWatermark {
  #stored = 0n;
  readonly #storing = new SerialQueue();

  /** @param commitTime of the present round; null before the first */
  constructor(
    private readonly deps: LeaderDependencies,
    private readonly watcher: DdlWatcher,
    private commitTime: bigint | null,
  ) {}

  /** Stores it as it advances, until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.watcher.moved.until(() => this.#ddlWatermark > this.#stored, signal);
      await this.store(signal);
      await this.deps.runtime.clock.sleep(store_ms, signal);
    }
  }

  /** Stores no later one than now until a commit time is set, unless there is one. */
  hold(): void {
    this.commitTime ??= this.watcher.ddlWatermark;
  }

  /** Stores what a commit time allows, and nothing later until a later one counts. */
  async setCommitTime(commitTime: bigint, signal: AbortSignal): Promise<void> {
    this.commitTime = commitTime;
    await this.store(signal);
  }

  /** Lower changes are already in the journal. The message to the fleet says where to read, not what is there. */
  store(signal: AbortSignal): Promise<void> {
    return this.#storing.run(async () => {
      const ddlWatermark = this.#ddlWatermark;
      if (ddlWatermark <= this.#stored) return;
      await this.deps.records.updateAsLeader(
        this.deps.leaderEpoch,
        { ddlWatermark: { time: timestampOf(ddlWatermark) } },
        signal,
      );
      this.#stored = ddlWatermark;
      this.deps.fleet.announceDdlWatermark();
    });
  }

  /** As tasks may know it. */
  get #ddlWatermark(): bigint {
    const { ddlWatermark } = this.watcher;
    return this.commitTime !== null && ddlWatermark > this.commitTime ? this.commitTime + 1n : ddlWatermark;
  }
}

/**
 * Advances the streams of idle shards. A stream of the whole cluster is as far as its slowest shard. An idle shard
 * advances only with the server's periodic no-op writes, every 10 s by default. The waker writes nothing where nothing
 * is new.
 */
export class ShardWaker {
  /** The time of this waker's last note on each shard: a shard that is still at it has nothing new. */
  #noted: ReadonlyMap<string, bigint> = new Map();
  /** Every known change is at or below it. */
  #newest = 0n;

  constructor(private readonly source: ClusterClient) {}

  /**
   * Writes a note on every shard if anything but such notes is at or above the watermark. It wakes every time where
   * shards cannot be read directly, or take no notes.
   * @param ddlWatermark the stream has shown everything below it
   */
  async wake(ddlWatermark: bigint, options: CallOptions): Promise<void> {
    const sawNew = this.source.access === 'direct' && (await this.#lookForNew(options));
    if (this.source.access === 'direct' && ddlWatermark > this.#newest) return;
    const noted = await noteEachShard(this.source, options);
    if (noted === null) {
      await wakeStreams(this.source, options);
      return;
    }
    this.#noted = noted;
    // A write between the read and the note is below that shard's note, but not below the notes of all shards.
    if (sawNew) this.#newest = highestTime(noted.values());
  }

  async #lookForNew(options: CallOptions): Promise<boolean> {
    const times = [...(await operationTimes(this.source, options))]
      .filter(([id, time]) => time !== this.#noted.get(id))
      .map(([, time]) => time);
    this.#newest = highestTime([...times, this.#newest]);
    return times.length > 0;
  }
}
