import type { Document } from 'mongodb';
import { shownName } from '../../cluster/time-series.js';
import { runTogether, type Task } from '../../async/together.js';
import type { MayPass } from '../../catalog/build-indexes.js';
import { canonicalText, type Catalog } from '../../catalog/namespace.js';
import type { CollectionPlan } from '../../catalog/destination-plan.js';
import type { IndexBuildProgress } from '../../catalog/index-builds.js';
import { refuseUnmappable } from '../../catalog/namespace-remap.js';
import { isRefusedDefinition, isRefusedView } from '../../catalog/views.js';
import { timeOf } from '../../cluster/cluster-time.js';
import { codeOf, failureName, isRefusedByDocument } from '../../cluster/failure.js';
import type { DdlLedger } from '../../ddl/ddl-ledger.js';
import type { DdlWatcher } from '../../ddl/ddl-watcher.js';
import { adoptCapped, type LedDestination } from '../../ddl/destination-collections.js';
import { judgeCatalog } from '../../ddl/judge-catalog.js';
import { isReplacedIndex, reconcileShape, type ShapeDependencies } from '../../ddl/reconcile-shape.js';
import { refuseExpiring } from '../../preflight/check-verification.js';
import { keepsBalancer } from '../../store/reversal.js';
import { readDestinationCatalog } from '../migration/migration-catalogs.js';
import {
  type LeaderDependencies,
  type MigrationDependencies,
  plannedIndexes,
  recordWarning,
  remapOf,
  sourceTimeAboveAll,
} from '../migration/migration-dependencies.js';
import { allTasks, buildsWarning, definitionsWarning, hasWarning } from '../../store/migration-view.js';
import { sourceBuilds } from './builds.js';
import { FollowedSource, refuseOtherShards } from './followed-source.js';
import { type JournalApplier, withFollowedSharding } from './journal-applier.js';

/** Minimum interval between comparisons of the catalogs, however much changes. */
const compareMin_ms = 500;

/** Interval between comparisons while the source builds an index: no commit is offered meanwhile. */
const sourceBuilds_ms = 2_000;

/** Definitions that differ for this long do not only change just now. */
const lasting_ms = 30_000;

const buildLasts =
  'Convoy is bringing indexes, options or views of the destination into line with the source, which takes long where ' +
  'it builds an index. Until it is done no commit is offered, and one that has begun waits.';

/** The journal of the migration, as the comparison of the catalogs reads and extends it. */
export interface LedJournal {
  ledger: DdlLedger;
  watcher: DdlWatcher;
  applier: JournalApplier;
  /** Adds a change, and wakes the tasks, which have to acknowledge it. */
  add: DdlLedger['add'];
}

/** A failure that the source's users or an operator can mend: another comparison may succeed. */
function mayMend(error: unknown): boolean {
  return codeOf(error) !== null || isReplacedIndex(error) || isRefusedDefinition(error);
}

/** Both catalogs, which the leader compares on change events, periodically, and before the commit. */
export class ReconciledCatalogs {
  readonly #followed: FollowedSource;
  readonly #refusedBuilds: RefusedBuilds;
  #compareSoon = false;
  /** Since when no comparison has succeeded. */
  #failingSince_ms: number | null = null;

  constructor(
    private readonly deps: LeaderDependencies,
    private readonly journal: LedJournal,
    private readonly destination: LedDestination,
  ) {
    this.#followed = new FollowedSource(deps);
    this.#refusedBuilds = new RefusedBuilds(deps);
    // A build that an earlier leader has named keeps commits from being offered until it is looked for.
    this.#compareSoon = hasWarning(deps.watch.view.record, buildsWarning);
  }

  /** Has the catalogs compared soon: a definition has changed. */
  compareSoon(): void {
    this.#compareSoon = true;
  }

  /** The source's catalog as it is now, with the shard keys that its collections have on the destination. */
  async readSource(signal: AbortSignal): Promise<Catalog> {
    const { record } = this.deps.watch.view;
    const { collections } = this.journal.ledger;
    const catalog = withFollowedSharding(this.deps, await this.#followed.read(signal), collections);
    refuseExpiring(record.options, catalog);
    refuseUnmappable(remapOf(record), catalog);
    this.deps.builds.noteSource(sourceBuilds(catalog));
    return catalog;
  }

  /**
   * Compares both catalogs now and brings the destination into line.
   * @param onIndexProgress called while it builds indexes
   * @returns false when something changed meanwhile, or an index waits for its documents, so that they have to be
   * compared again
   */
  async compare(signal: AbortSignal, onIndexProgress?: (progress: IndexBuildProgress) => void): Promise<boolean> {
    const { runtime } = this.deps;
    const { ledger } = this.journal;
    const [before, wasSettled] = [ledger.known, ledger.next === undefined];
    const settled = await this.#refusedBuilds.settledTime(signal);
    let now: Catalog;
    try {
      now = await this.readSource(signal);
    } catch (error) {
      if (!isRefusedView(error)) throw error;
      await this.#noteFailure(error.errorDescription, signal);
      return false;
    }
    const found = await readDestinationCatalog(this.deps, signal);
    await refuseOtherShards(this.deps, signal);
    const time = await this.#journalDifferences(now, found, () => wasSettled && before === ledger.known, signal);
    const mayPass: MayPass = (plan, index) => this.#refusedBuilds.mayPass(plan, index, { settled, time });
    try {
      const reconcile: Task = (each) => this.#reconcile(now, found, { onIndexProgress, mayPass }, each);
      await (onIndexProgress === undefined ? this.#warnWhileLasting(reconcile, signal) : reconcile(signal));
      this.#refusedBuilds.clear();
      this.deps.builds.noteLooked();
      await this.#noteFailure(null, signal);
      return true;
    } catch (error) {
      // Compares again where the journal, the source or an operator has changed a definition meanwhile.
      if (signal.aborted || (!mayMend(error) && before === ledger.known)) throw error;
      const failure = isRefusedDefinition(error) ? error.errorDescription : failureName(error);
      runtime.logger.warn(
        { event: 'comparisonBrokenOff', failure },
        'definitions could not be brought into line; the leader compares them again',
      );
      // A refused build has read the whole collection: it is no reason to compare soon.
      if (!isRefusedByDocument(error) && !isRefusedDefinition(error)) this.#compareSoon = true;
      await this.#noteFailure(failure, signal);
      return false;
    }
  }

  /** Warns of a comparison that lasts, as the build of an index does: a commit would wait, with the writers stopped. */
  async #warnWhileLasting(reconcile: Task, signal: AbortSignal): Promise<void> {
    const { runtime, watch } = this.deps;
    const done = new AbortController();
    await runTogether(signal, [
      (each) => reconcile(each).finally(() => done.abort()),
      async (each) => {
        const over = AbortSignal.any([each, done.signal]);
        const isLasting = await runtime.clock.sleep(lasting_ms, over).then(
          () => true,
          () => false,
        );
        const { record } = watch.view;
        if (!isLasting || hasWarning(record, definitionsWarning)) return;
        await recordWarning(this.deps, definitionsWarning, buildLasts, each);
      },
    ]);
  }

  /** Warns of a failure that lasts: a commit would find that the definitions differ, with the writers stopped. */
  async #noteFailure(failure: string | null, signal: AbortSignal): Promise<void> {
    const now_ms = this.deps.runtime.clock.monotonic_ms();
    const recorded = this.deps.watch.view.record.warnings.find(({ name }) => name === definitionsWarning);
    this.#failingSince_ms = failure === null ? null : (this.#failingSince_ms ?? now_ms);
    // An earlier leader, or a build that lasted, may have recorded one.
    const isLasting = recorded !== undefined || now_ms - (this.#failingSince_ms ?? now_ms) >= lasting_ms;
    const description =
      'Convoy cannot bring indexes, options or views of the destination into line with the source, and tries again: ' +
      `${failure}. Until then no commit is offered.`;
    const wanted = failure !== null && isLasting ? description : null;
    if (wanted === (recorded?.description ?? null)) return;
    await recordWarning(this.deps, definitionsWarning, wanted, signal);
  }

  /** Compares until the signal: at intervals, and soon after a change event. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, config } = this.deps.runtime;
    let took_ms = 0;
    for (;;) {
      const since_ms = clock.monotonic_ms();
      // No event shows that a build of the source has failed.
      const interval_ms = () =>
        this.deps.builds.isSourceBuilding
          ? Math.min(sourceBuilds_ms, config.catalogInterval_seconds * 1000)
          : config.catalogInterval_seconds * 1000;
      const isDue = () => this.#compareSoon || clock.monotonic_ms() - since_ms >= interval_ms();
      // Large catalogs take long to read: reading may take at most half of the time.
      await clock.sleep(Math.max(compareMin_ms, took_ms), signal);
      while (!isDue()) await clock.sleep(compareMin_ms, signal);
      const began_ms = clock.monotonic_ms();
      this.#compareSoon = false;
      await this.compare(signal);
      took_ms = clock.monotonic_ms() - began_ms;
    }
  }

  /**
   * Adds to the journal what it lacks: drops and renames come from the stream.
   * @returns a time of the source after its catalog was read
   */
  async #journalDifferences(
    now: Catalog,
    found: Catalog,
    isSettled: () => boolean,
    signal: AbortSignal,
  ): Promise<bigint> {
    const { ledger, watcher, applier, add } = this.journal;
    const { pairs } = this.destination;
    const { record } = this.deps.watch.view;
    const remap = remapOf(record);
    const made = [...ledger.collections.values()].map((entry) => remap.onDestination(entry));
    await applier.exclusively(() => adoptCapped(pairs, made, found, signal));
    const time = await sourceTimeAboveAll(this.deps, signal);
    const judged = (): ReturnType<typeof judgeCatalog> =>
      judgeCatalog({ now, found, time, isSettled: isSettled() }, ledger, pairs, keepsBalancer(record));
    if (judged().length === 0) return time;
    // Reads the stream up to now first: a name that seems reused may belong to a renamed collection.
    await watcher.untilKnown(time, signal);
    for (const judge of judged()) await add(judge, signal);
    return time;
  }

  #reconcile(
    now: Catalog,
    found: Catalog,
    building: Pick<ShapeDependencies, 'onIndexProgress' | 'mayPass'>,
    signal: AbortSignal,
  ): Promise<void> {
    const { runtime, source, watch } = this.deps;
    const { ledger, applier } = this.journal;
    const { record } = watch.view;
    const shape = {
      ...this.destination,
      source,
      ...plannedIndexes(record),
      remap: remapOf(record),
      ...building,
      ledger,
      exclusively: (work: () => Promise<void>) => applier.exclusively(work),
    };
    return runtime.retrying('bring definitions into line', () => reconcileShape(shape, now, found, signal), signal);
  }
}

const minute_ms = 60_000;

/** The first refusal of an index, and a time of the source at which that had the index. */
interface Refusal {
  time: bigint;
  since_ms: number;
}

/**
 * The indexes whose build a document of the destination refuses. That document may only be outdated: the source's state
 * at the time of its index has none that refuses it. So a refusal counts once all tasks have brought the destination to
 * that time, or after `retry_minutes`.
 */
export class RefusedBuilds {
  readonly #refusals = new Map<string, Refusal>();

  constructor(private readonly deps: MigrationDependencies) {}

  /** A time of the source before which all is on the destination; 0 while nobody asks, or something is to be read. */
  async settledTime(signal: AbortSignal): Promise<bigint> {
    if (this.#refusals.size === 0) return 0n;
    const { runtime, watch, metadata } = this.deps;
    const view = await watch.refresh(signal);
    const tasks = [...view.tasks.values()];
    // An operator may pause for as long as he likes.
    if (tasks.some(({ paused }) => paused))
      for (const refusal of this.#refusals.values()) refusal.since_ms = runtime.clock.monotonic_ms();
    if (!allTasks(view, ({ copyDone }) => copyDone) || (await metadata.count('rereads', {}, signal)) > 0) return 0n;
    const times = tasks.map(({ checkpoint }) => (checkpoint === null ? 0n : timeOf(checkpoint)));
    return times.reduce((least, time) => (time < least ? time : least));
  }

  /**
   * Whether a later build of an index may succeed that a document has just refused.
   * @param settled the settled time from before the build
   * @param time of the source, at which it had the index
   */
  mayPass(plan: CollectionPlan, index: Document, { settled, time }: { settled: bigint; time: bigint }): boolean {
    const { clock, config, logger } = this.deps.runtime;
    const key = `${plan.entry.uuid} ${canonicalText(index)}`;
    const refusal = this.#refusals.get(key);
    if (refusal === undefined) {
      this.#refusals.set(key, { time, since_ms: clock.monotonic_ms() });
      logger.warn(
        { event: 'indexBuildWaits', namespace: shownName(plan.entry), index: String(index.name) },
        'a document of the destination refuses an index; the leader builds it later',
      );
      return true;
    }
    return settled < refusal.time && clock.monotonic_ms() - refusal.since_ms < config.retry_minutes * minute_ms;
  }

  /** Forgets all: no build is refused any more. */
  clear(): void {
    this.#refusals.clear();
  }
}
