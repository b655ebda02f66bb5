import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { listCollections } from '../../catalog/read/list-namespaces.js';
import type { Catalog } from '../../catalog/namespace.js';
import { readCatalog, readCollectionByUuid } from '../../catalog/read/read-catalog.js';
import { timeOf, timestampOf } from '../../cluster/cluster-time.js';
import { codeOf, failureName } from '../../cluster/failure.js';
import { adoptCapped } from '../../ddl/adopt-capped.js';
import { applyDdlChange } from '../../ddl/apply-ddl-change.js';
import { DdlLedger } from '../../ddl/ddl-ledger.js';
import { judgeCatalog } from '../../ddl/judge-catalog.js';
import { reconcileShape } from '../../ddl/reconcile-shape.js';
import { DdlWatcher } from '../../ddl/ddl-watcher.js';
import { arrivedOf, takeUnknown } from '../../ddl/take-unknown.js';
import { refuseExpiring } from '../../preflight/check-verification.js';
import { runTogether } from '../../store/run-together.js';
import { SerialQueue } from '../../store/serial-queue.js';
import { UuidPairs } from '../../store/uuid-pairs.js';
import { IdleTasks } from './idle.js';
import { sourceTimeAboveAll } from '../migration/source-time.js';
import { isStreamAwaited } from '../migration/commit-awaited.js';
import { filterOf, type MigrationDependencies, readStartCatalog } from '../migration/migration-dependencies.js';
import { allTasks } from '../migration/migration-watch.js';
import { ShardWaker } from './shard-waker.js';
import { planNewCollection, readFollowedCatalog, readSourceCollection } from './source-ddl.js';

/** The horizon is stored no more often than this, though the stream says more often how far it is while a commit waits for it. */
const storeDdlWatermark_ms = 40;
/** Idle shards hold the horizon up: when it has not moved for this long, it is looked whether they have to be woken. */
const wake_ms = 500;
/** The same while no share has anything to do. */
const idleWake_ms = 1_000;
/** The shares' records are looked through for unknown collections this often; news of them come by the fleet. */
const unknown_ms = 200;
/** Catalogs are not compared more often than this, however much changes. */
const compareMin_ms = 500;
/** A build of indexes under way, or a router that has not heard of a change, passes within moments. */
const applyAgain_ms = 500;
/** From this release on one shard shows a drop or rename for all (SERVER-71085, SERVER-71365). */
const oneCopyRelease = 7;

/** The server does not rename a collection while it builds its indexes (BackgroundOperationInProgressForNamespace). */
const indexBuildRunningCode = 12_587;

/** The leader's part in following definition changes: finds them, has them agreed upon, and carries them out. */
export class DdlLeader {
  readonly #ledger: DdlLedger;
  readonly #ddlWatcher: DdlWatcher;
  readonly #pairs: UuidPairs;
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
    this.#commitTime = parts.commitTime;
    this.#idle = new IdleTasks(deps.watch, runtime.clock);
    this.#ddlWatcher = new DdlWatcher(
      {
        source,
        retrying: runtime.retrying,
        ledger: parts.ledger,
        filter: filterOf(deps.watch.view.record),
        showsEachCopy: source.version[0] < oneCopyRelease,
        shardsReplicaSet: deps.watch.view.record.options.sharding !== undefined,
        monotonic_ms: () => runtime.clock.monotonic_ms(),
        hasLeft: async ({ database, name, uuid }, signal) =>
          (await this.#collection(database, uuid, signal))?.name !== name,
        timeAboveAll: (signal) => sourceTimeAboveAll(deps, signal),
        isIdle: () => this.#idle.isIdle(),
        isAwaited: () => isStreamAwaited(deps.watch.view),
        onTrigger: () => (this.#compareSoon = true),
      },
      parts.startAt,
    );
  }

  /** Takes the journal over from earlier leaders; none of them can say anything more in it. */
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

  /** Follows until the signal; rejects with the first failure. */
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
   * From here on no later horizon is stored, until shares may hear of the commit time that is about to be taken: what
   * comes after it would be routed by those that have not heard of it yet.
   */
  holdDdlWatermark(): void {
    this.#commitTime ??= this.#ddlWatcher.ddlWatermark;
  }

  /**
   * Resolves once all changes up to a commit time are known and everything in the journal is applied, and the stored horizon
   * lies above it. None beyond is stored until a later one counts.
   */
  async untilApplied(time: bigint, signal: AbortSignal): Promise<void> {
    this.#commitTime = time;
    await this.#store(signal);
    await this.#ddlWatcher.moved.until(() => this.#ddlWatcher.ddlWatermark > time, signal);
    await this.#ledger.changed.until(() => this.#ledger.next === undefined, signal);
    await this.#store(signal);
  }

  /** Whether the journal has anything above a time, or anything that is not applied. */
  changedAfter(time: bigint): boolean {
    return this.#ledger.next !== undefined || this.#ledger.latest > time;
  }

  /** The source's catalog as it is now, with the shard keys that its collections have on the destination. */
  async readSource(signal: AbortSignal): Promise<Catalog> {
    const catalog = await this.deps.runtime.retrying(
      'read the source catalog',
      () => readFollowedCatalog(this.deps, this.#ledger.entries, signal),
      signal,
    );
    refuseExpiring(this.deps.watch.view.record.options, catalog);
    return catalog;
  }

  /** Looks at both catalogs now and brings the destination into line. */
  async compare(signal: AbortSignal): Promise<void> {
    const { runtime, source, destination, watch } = this.deps;
    const { record } = watch.view;
    const ledger = this.#ledger;
    const [before, wasSettled] = [ledger.known, ledger.next === undefined];
    const now = await this.readSource(signal);
    const found = await runtime.retrying(
      'read the destination catalog',
      () => readCatalog(destination, filterOf(record), signal),
      signal,
    );
    await this.#exclusively(() => adoptCapped(this.#pairs, ledger.entries.values(), found, signal));
    const time = await sourceTimeAboveAll(this.deps, signal);
    const judged = (): ReturnType<typeof judgeCatalog> =>
      judgeCatalog({ now, found, time, isSettled: wasSettled && before === ledger.known, ledger, pairs: this.#pairs });
    if (judged().length > 0) {
      // What the stream tells of the time before comes first: a name that looks taken over may belong to what was renamed.
      await this.#ddlWatcher.moved.until(() => this.#ddlWatcher.ddlWatermark > time, signal);
      for (const judge of judged()) await this.#add(judge, signal);
    }
    try {
      const { buildIndexes } = record.options;
      const shape = {
        source,
        buildIndexes,
        isChanging: (uuid: string) => ledger.isChanging(uuid),
        isFollowedName: (database: string, name: string) => ledger.followed.at(database, name) !== undefined,
        exclusively: (work: () => Promise<void>) => this.#exclusively(work),
      };
      await runtime.retrying(
        'bring definitions into line',
        () => reconcileShape({ ...this.#destination(), ...shape }, now, found, signal),
        signal,
      );
    } catch (error) {
      // What was changed by the journal meanwhile is looked at again; so is what the source, or somebody on the destination, has changed since.
      if (signal.aborted || (codeOf(error) === null && before === ledger.known && !isReplacedIndex(error))) throw error;
      runtime.logger.warn(
        { event: 'comparisonBrokenOff', failure: failureName(error) },
        'definitions could not be brought into line; they are looked at again',
      );
      this.#compareSoon = true;
    }
  }

  #destination() {
    const { destination, records } = this.deps;
    // Also says so to a leader that was frozen: nothing is changed by one whose epoch is old.
    const confirm = (signal: AbortSignal): Promise<void> =>
      records.raiseDdlChanges(this.leaderEpoch, { done: this.#ledger.done }, signal);
    return { destination, pairs: this.#pairs, confirm };
  }

  async #add(judge: Parameters<DdlLedger['add']>[0], signal: AbortSignal): Promise<void> {
    await this.#ledger.add(judge, signal);
    this.deps.fleet.wake();
  }

  /** Carries out what all shares have consented to, in order. */
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
        const result = await runtime.retrying(
          'apply a definition change',
          () => this.#applyOne(ddlChange, signal),
          signal,
        );
        await ledger.finish(result, signal);
      });
      const { operation, database, name, ordinal } = ddlChange;
      runtime.logger.info(
        { event: 'ddlChangeApplied', ordinal, operation, database, name },
        'a definition change was applied',
      );
      fleet.wake();
    }
  }

  async #applyOne(ddlChange: Parameters<typeof applyDdlChange>[1], signal: AbortSignal) {
    const { deps } = this;
    const applying = {
      ...this.#destination(),
      filter: filterOf(deps.watch.view.record),
      readSource: (database: string, uuid: string, each: AbortSignal) =>
        readSourceCollection(deps, database, uuid, each),
      plan: (entry: Parameters<typeof planNewCollection>[1], each: AbortSignal) => planNewCollection(deps, entry, each),
      entryOf: (uuid: string) => this.#ledger.entries.get(uuid) ?? null,
    };
    for (;;) {
      try {
        return await applyDdlChange(applying, ddlChange, signal);
      } catch (error) {
        if (codeOf(error) !== indexBuildRunningCode) throw error;
        await deps.runtime.clock.sleep(applyAgain_ms, signal);
      }
    }
  }

  async #exclusively(work: () => Promise<void>): Promise<void> {
    const turn = this.#applying.then(work);
    this.#applying = turn.catch(() => undefined);
    await turn;
  }

  /** As shares may know it. */
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

  async #storeDdlWatermark(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#ddlWatcher.moved.until(() => this.#ddlWatermark > this.#stored, signal);
      await this.#store(signal);
      await this.deps.runtime.clock.sleep(storeDdlWatermark_ms, signal);
    }
  }

  /** What lies below it counts in the journal already. The fleet is told where to look, and not what is to be seen there. */
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
      // Large catalogs take long to read: at most half of the time is spent with it.
      await clock.sleep(Math.max(compareMin_ms, took_ms), signal);
      while (!isDue()) await clock.sleep(compareMin_ms, signal);
      const began_ms = clock.monotonic_ms();
      this.#compareSoon = false;
      await this.compare(signal);
      took_ms = clock.monotonic_ms() - began_ms;
    }
  }
}

/** An index is built only where none has its name: another one that has it all the same has come since the destination was read. */
function isReplacedIndex(error: unknown): boolean {
  return error instanceof ConvoyError && error.error === 'catalogDiffers';
}
