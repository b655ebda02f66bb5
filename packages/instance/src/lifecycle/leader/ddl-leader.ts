import type { IndexBuildProgress } from '../../catalog/make/index-builds.js';
import { listCollections } from '../../catalog/read/list-namespaces.js';
import type { Catalog } from '../../catalog/namespace.js';
import { refuseUnmappable } from '../../catalog/namespace-remap.js';
import { isShardedAs } from '../../catalog/read/read-sharding.js';
import { readCollectionByUuid } from '../../catalog/read/read-catalog.js';
import { timeOf, timestampOf } from '../../cluster/cluster-time.js';
import { serverCode } from '../../catalog/server-code.js';
import { codeOf, failureName } from '../../cluster/failure.js';
import { adoptCapped } from '../../ddl/adopt-capped.js';
import { applyDdlChange } from '../../ddl/apply-ddl-change.js';
import { DdlLedger } from '../../ddl/ddl-ledger.js';
import { judgeCatalog } from '../../ddl/judge-catalog.js';
import { isReplacedIndex, reconcileShape } from '../../ddl/reconcile-shape.js';
import { DdlWatcher } from '../../ddl/ddl-watcher.js';
import { arrivedOf, takeUnknown } from '../../ddl/take-unknown.js';
import { refuseExpiring } from '../../preflight/check-verification.js';
import { keepsBalancer } from '../../store/reversal.js';
import { runTogether } from '../../store/run-together.js';
import { SerialQueue } from '../../store/serial-queue.js';
import { UuidPairs } from '../../store/uuid-pairs.js';
import { IdleTasks } from './idle.js';
import { sourceTimeAboveAll } from '../migration/source-time.js';
import { plannedIndexes } from '../migration/index-scope.js';
import { isStreamAwaited } from '../migration/commit-awaited.js';
import {
  filterOf,
  type MigrationDependencies,
  readDestinationCatalog,
  readStartCatalog,
  remapOf,
} from '../migration/migration-dependencies.js';
import { allTasks } from '../migration/migration-watch.js';
import { FollowedSource } from './followed-source.js';
import { refuseOtherShards } from './refuse-other-shards.js';
import { skipping } from './skip-indexes.js';
import { ShardWaker } from './shard-waker.js';
import { planNewCollection, readSourceCollection, withFollowedSharding } from './source-ddl.js';

/** The leader stores the DDL watermark at most this often, though streams advance faster while a commit waits. */
const storeDdlWatermark_ms = 40;
/**
 * Idle shards hold the DDL watermark back. After this long without progress, the leader checks whether to wake them.
 */
const wake_ms = 500;
/** The same while no task has anything to do. */
const idleWake_ms = 1_000;
/** The leader reads the tasks' records for unknown collections this often; the fleet also announces them. */
const unknown_ms = 200;
/** Minimum interval between comparisons of the catalogs, however much changes. */
const compareMin_ms = 500;
/** A running index build, or a router that does not know of a change yet, resolves within moments. */
const applyAgain_ms = 500;
/** From this release on, one shard reports a drop or rename for all (SERVER-71085, SERVER-71365). */
const oneCopyRelease = 7;

/** The leader's part in DDL changes: it finds them, has all tasks acknowledge them, and applies them. */
export class DdlLeader {
  readonly #ledger: DdlLedger;
  readonly #ddlWatcher: DdlWatcher;
  readonly #pairs: UuidPairs;
  readonly #followed: FollowedSource;
  #stored = 0n;
  #commitTime: bigint | null;
  #compareSoon = false;
  readonly #idle: IdleTasks;
  #applying: Promise<unknown> = Promise.resolve();
  readonly #storing = new SerialQueue();

  private constructor(
    private readonly deps: MigrationDependencies,
    private readonly leaderEpoch: number,
    parts: { ledger: DdlLedger; pairs: UuidPairs; startAt: bigint; commitTime: bigint | null },
  ) {
    const { runtime, source } = deps;
    this.#ledger = parts.ledger;
    this.#pairs = parts.pairs;
    this.#followed = new FollowedSource(deps, leaderEpoch);
    this.#commitTime = parts.commitTime;
    this.#idle = new IdleTasks(deps.watch, runtime.clock);
    this.#ddlWatcher = new DdlWatcher(
      {
        source,
        retrying: runtime.retrying,
        ledger: parts.ledger,
        filter: filterOf(deps.watch.view.record),
        remap: remapOf(deps.watch.view.record),
        showsEachCopy: source.version[0] < oneCopyRelease,
        keepsBalancer: keepsBalancer(deps.watch.view.record),
        shardsReplicaSet: deps.watch.view.record.options.sharding !== undefined,
        monotonic_ms: () => runtime.clock.monotonic_ms(),
        hasLeft: async ({ database, name, uuid }, signal) =>
          (await this.#collection(database, uuid, signal))?.name !== name &&
          !(await this.#isShardedAs(`${database}.${name}`, uuid, signal)),
        timeAboveAll: (signal) => sourceTimeAboveAll(deps, signal),
        isIdle: () => this.#idle.isIdle(),
        isAwaited: () => isStreamAwaited(deps.watch.view),
        onTrigger: () => (this.#compareSoon = true),
      },
      parts.startAt,
    );
  }

  /** Takes the journal over from earlier leaders, which can no longer write to it. */
  static async take(deps: MigrationDependencies, leaderEpoch: number, signal: AbortSignal): Promise<DdlLeader> {
    const { metadata, records, watch, journal } = deps;
    await journal.claim(leaderEpoch, signal);
    const { record } = await watch.refresh(signal);
    const ddlChanges = await journal.readAfter(0, record.ddlChanges.known, signal);
    const ledger = new DdlLedger(journal, leaderEpoch, await readStartCatalog(deps, signal), ddlChanges);
    await records.raiseDdlChanges(leaderEpoch, { done: ledger.done }, signal);
    const startAt = timeOf(record.ddlWatermark?.time ?? record.startTime ?? timestampOf(0n));
    const commitTime = record.commit === null ? null : timeOf(record.commit.time);
    return new DdlLeader(deps, leaderEpoch, {
      ledger,
      pairs: await UuidPairs.read(metadata, leaderEpoch, signal),
      startAt,
      commitTime,
    });
  }

  /** Follows DDL changes until the signal aborts; rejects with the first failure. */
  async run(stop: AbortSignal): Promise<void> {
    await runTogether(stop, [
      (signal) => this.#ddlWatcher.run(signal),
      (signal) => this.#apply(signal),
      (signal) => this.#storeDdlWatermark(signal),
      (signal) => this.#wakeShards(signal),
      (signal) => this.#takeUnknown(signal),
      (signal) => this.#compareAtIntervals(signal),
    ]);
  }

  /**
   * Stores no later DDL watermark until tasks can know of the commit time that is about to be taken. Otherwise tasks
   * that do not know of it yet would dispatch events above it.
   */
  holdDdlWatermark(): void {
    this.#commitTime ??= this.#ddlWatcher.ddlWatermark;
  }

  /**
   * Resolves once all DDL changes up to a commit time are known, the journal is applied, and the stored DDL watermark
   * is above it. Stores no later watermark until a later one counts.
   */
  async untilApplied(time: bigint, signal: AbortSignal): Promise<void> {
    this.#commitTime = time;
    await this.#store(signal);
    await this.#ddlWatcher.moved.until(() => this.#ddlWatcher.ddlWatermark > time, signal);
    await this.#ledger.changed.until(() => this.#ledger.next === undefined, signal);
    await this.#store(signal);
  }

  /** Whether the journal has an entry above a time, or one that is not applied. */
  changedAfter(time: bigint): boolean {
    return this.#ledger.next !== undefined || this.#ledger.latest > time;
  }

  /** The source's catalog as it is now, with the shard keys that its collections have on the destination. */
  async readSource(signal: AbortSignal): Promise<Catalog> {
    const catalog = withFollowedSharding(this.deps, await this.#followed.read(signal), this.#ledger.entries);
    refuseExpiring(this.deps.watch.view.record.options, catalog);
    refuseUnmappable(remapOf(this.deps.watch.view.record), catalog);
    return catalog;
  }

  /**
   * Compares both catalogs now and brings the destination into line.
   * @param onIndexProgress called while it builds indexes
   * @returns false when something changed meanwhile, so that they have to be compared again
   */
  async compare(signal: AbortSignal, onIndexProgress?: (progress: IndexBuildProgress) => void): Promise<boolean> {
    const { runtime, source, watch } = this.deps;
    const { record } = watch.view;
    const ledger = this.#ledger;
    const [before, wasSettled] = [ledger.known, ledger.next === undefined];
    const now = await this.readSource(signal);
    const found = await readDestinationCatalog(this.deps, signal);
    await refuseOtherShards(this.deps, this.leaderEpoch, signal);
    const remap = remapOf(record);
    const made = [...ledger.entries.values()].map((entry) => remap.onDestination(entry));
    await this.#exclusively(() => adoptCapped(this.#pairs, made, found, signal));
    const time = await sourceTimeAboveAll(this.deps, signal);
    const judged = (): ReturnType<typeof judgeCatalog> =>
      judgeCatalog({
        now,
        found,
        time,
        isSettled: wasSettled && before === ledger.known,
        keepsBalancer: keepsBalancer(record),
        ledger,
        pairs: this.#pairs,
      });
    if (judged().length > 0) {
      // Reads the stream up to now first: a name that seems reused may belong to a renamed collection.
      await this.#ddlWatcher.moved.until(() => this.#ddlWatcher.ddlWatermark > time, signal);
      for (const judge of judged()) await this.#add(judge, signal);
    }
    try {
      const shape = {
        source,
        ...plannedIndexes(watch.view.record),
        remap,
        onIndexProgress,
        isChanging: (uuid: string) => ledger.isChanging(uuid),
        isFollowedName: (database: string, name: string) => ledger.followed.at(database, name) !== undefined,
        exclusively: (work: () => Promise<void>) => this.#exclusively(work),
      };
      await runtime.retrying(
        'bring definitions into line',
        () => reconcileShape({ ...this.#destination(), ...shape }, now, found, signal),
        signal,
      );
      return true;
    } catch (error) {
      // Compares again where the journal, the source or an operator has changed a definition meanwhile.
      if (signal.aborted || (codeOf(error) === null && before === ledger.known && !isReplacedIndex(error))) throw error;
      runtime.logger.warn(
        { event: 'comparisonBrokenOff', failure: failureName(error) },
        'definitions could not be brought into line; the leader compares them again',
      );
      this.#compareSoon = true;
      return false;
    }
  }

  #destination() {
    const { destination, records } = this.deps;
    // Also stops a leader that was frozen: one with an old epoch changes nothing.
    const confirm = (signal: AbortSignal): Promise<void> =>
      records.raiseDdlChanges(this.leaderEpoch, { done: this.#ledger.done }, signal);
    return { destination, pairs: this.#pairs, confirm, skip: skipping(this.deps, this.leaderEpoch) };
  }

  async #add(judge: Parameters<DdlLedger['add']>[0], signal: AbortSignal): Promise<void> {
    await this.#ledger.add(judge, signal);
    this.deps.fleet.wake();
  }

  /** Applies the entries that all tasks have acknowledged, in order. */
  async #apply(signal: AbortSignal): Promise<void> {
    const { runtime, watch, fleet } = this.deps;
    const ledger = this.#ledger;
    for (;;) {
      await ledger.changed.until(() => ledger.next !== undefined, signal);
      const ddlChange = ledger.next;
      if (ddlChange === undefined) continue;
      fleet.wake();
      await watch.until((view) => allTasks(view, ({ acknowledged }) => acknowledged >= ddlChange.ordinal), signal);
      await this.#exclusively(async () => {
        const result = await runtime.retrying('apply a DDL change', () => this.#applyOne(ddlChange, signal), signal);
        await ledger.finish(result, signal);
      });
      const { operation, database, name, ordinal } = ddlChange;
      runtime.logger.info(
        { event: 'ddlChangeApplied', ordinal, operation, database, name },
        'the leader applied a DDL change',
      );
      fleet.wake();
    }
  }

  async #applyOne(ddlChange: Parameters<typeof applyDdlChange>[1], signal: AbortSignal) {
    const { deps } = this;
    const applying = {
      ...this.#destination(),
      filter: filterOf(deps.watch.view.record),
      remap: remapOf(deps.watch.view.record),
      readSource: (database: string, uuid: string, each: AbortSignal) =>
        readSourceCollection(deps, database, uuid, each),
      plan: (entry: Parameters<typeof planNewCollection>[1], each: AbortSignal) => planNewCollection(deps, entry, each),
      entryOf: (uuid: string) => this.#ledger.entries.get(uuid) ?? null,
    };
    for (;;) {
      try {
        return await applyDdlChange(applying, ddlChange, signal);
      } catch (error) {
        // The server renames no collection while it builds indexes.
        if (codeOf(error) !== serverCode.backgroundOperationInProgress) throw error;
        await deps.runtime.clock.sleep(applyAgain_ms, signal);
      }
    }
  }

  async #exclusively(work: () => Promise<void>): Promise<void> {
    const turn = this.#applying.then(work);
    this.#applying = turn.catch(() => undefined);
    await turn;
  }

  /** As tasks may know it. */
  get #ddlWatermark(): bigint {
    const { ddlWatermark } = this.#ddlWatcher;
    return this.#commitTime !== null && ddlWatermark > this.#commitTime ? this.#commitTime + 1n : ddlWatermark;
  }

  #collection(database: string, uuid: string, signal: AbortSignal): ReturnType<typeof readCollectionByUuid> {
    const { runtime, source } = this.deps;
    return runtime.retrying(
      'read a collection of the source',
      () => readCollectionByUuid(source, database, uuid, signal),
      signal,
    );
  }

  #isShardedAs(namespace: string, uuid: string, signal: AbortSignal): Promise<boolean> {
    const { runtime, source } = this.deps;
    return runtime.retrying(
      'read a sharded collection of the source',
      () => isShardedAs(source, namespace, uuid, signal),
      signal,
    );
  }

  async #storeDdlWatermark(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#ddlWatcher.moved.until(() => this.#ddlWatermark > this.#stored, signal);
      await this.#store(signal);
      await this.deps.runtime.clock.sleep(storeDdlWatermark_ms, signal);
    }
  }

  /** Lower changes are already in the journal. The message to the fleet says where to read, not what is there. */
  #store(signal: AbortSignal): Promise<void> {
    return this.#storing.run(async () => {
      const ddlWatermark = this.#ddlWatermark;
      if (ddlWatermark <= this.#stored) return;
      await this.deps.records.updateAsLeader(
        this.leaderEpoch,
        { ddlWatermark: { time: timestampOf(ddlWatermark) } },
        signal,
      );
      this.#stored = ddlWatermark;
      this.deps.fleet.announceDdlWatermark();
    });
  }

  async #wakeShards(signal: AbortSignal): Promise<void> {
    const { runtime, source } = this.deps;
    const waker = new ShardWaker(source);
    for (;;) {
      const before = this.#ddlWatcher.ddlWatermark;
      await runtime.clock.sleep(this.#idle.isIdle() ? idleWake_ms : wake_ms, signal);
      if (this.#ddlWatcher.ddlWatermark !== before) continue;
      await runtime.retrying('wake idle shards', () => waker.wake(before, { signal }), signal);
    }
  }

  async #takeUnknown(signal: AbortSignal): Promise<void> {
    const { deps } = this;
    const { runtime, watch } = deps;
    const taking = {
      ledger: this.#ledger,
      filter: filterOf(watch.view.record),
      namesOf: (database: string, each: AbortSignal) => this.#namesOf(database, each),
      timeAboveAll: (each: AbortSignal) => sourceTimeAboveAll(deps, each),
      untilKnown: (time: bigint, each: AbortSignal) =>
        this.#ddlWatcher.moved.until(() => this.#ddlWatcher.ddlWatermark > time, each),
      add: (judge: Parameters<DdlLedger['add']>[0], each: AbortSignal) => this.#add(judge, each),
    };
    for (;;) {
      const arrived = await arrivedOf(taking, this.#ddlWatcher.arriving, signal);
      await takeUnknown(
        taking,
        [...arrived, ...[...watch.view.tasks.values()].flatMap((task) => task.unknown)],
        signal,
      );
      await runtime.clock.sleep(unknown_ms, signal);
    }
  }

  async #namesOf(database: string, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const { runtime, source } = this.deps;
    const listed = await runtime.retrying(
      'list collections of the source',
      () => listCollections(source.router, database, signal),
      signal,
    );
    return new Map(listed.map(({ uuid, name }) => [uuid, name]));
  }

  async #compareAtIntervals(signal: AbortSignal): Promise<void> {
    const { clock, config } = this.deps.runtime;
    let took_ms = 0;
    for (;;) {
      const since_ms = clock.monotonic_ms();
      const isDue = (): boolean =>
        this.#compareSoon || clock.monotonic_ms() - since_ms >= config.catalogInterval_seconds * 1000;
      // Large catalogs take long to read: reading may take at most half of the time.
      await clock.sleep(Math.max(compareMin_ms, took_ms), signal);
      while (!isDue()) await clock.sleep(compareMin_ms, signal);
      const began_ms = clock.monotonic_ms();
      this.#compareSoon = false;
      await this.compare(signal);
      took_ms = clock.monotonic_ms() - began_ms;
    }
  }
}
