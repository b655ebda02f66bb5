import { setMaxListeners } from 'node:events';
import type { MigrationState } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Failure } from '@convoy/api/fleet/fleet';
import type { NamespacePart } from '@convoy/api/fleet/published-details';
import { listenersMax } from '../../async/together.js';
import { Condition } from '../../async/waiting.js';
import type { IndexBuildProgress } from '../../catalog/index-builds.js';
import { namedFailure } from '../../cluster/named-failure.js';
import type { Metadata } from '../../store/metadata.js';
import { isOpeningDecided, isVerified } from '../../store/migration-record.js';
import { swapsOf } from '../../store/reversal.js';
import type { TaskRecord } from '../../store/task-record.js';
import { leadWhenElected } from '../leader/lead.js';
import { swapWhenRequested } from '../leader/reverse.js';
import { dependenciesOf, type MigrationDependencies, type MigrationPart } from '../migration/migration-dependencies.js';
import { isCommitJustRequested, isReverseRequested, type MigrationView } from '../../store/migration-view.js';
import { MetadataRemoval, type MigrationWatch } from '../../store/migration-watch.js';
import { writeSessionsMax } from '../migration/runtime.js';
import { blocksAfterFailure } from '../migration/write-blocks.js';
import type { SyncPipeline } from '../task/sync-pipeline.js';
import { syncTasks } from '../task/sync-tasks.js';
import type { TaskStats } from '../task/task-stats.js';
import type { VerificationStats } from '../task/verification-stats.js';
import type { VerifiedTask } from '../task/verification-task.js';
import { keepSessions, OwnTasks, recordFailure, releaseSource } from './own-tasks.js';

/** Time for writes in flight at the end; then their connections are cut. */
const hardStop_ms = 4000;

/**
 * One process's part in one direction of a migration: from its start, or the process's restart, to COMMITTED, a
 * failure, or the swap of the clusters.
 */
export class MigrationRun {
  readonly #migration: MigrationDependencies;
  readonly #watch: MigrationWatch;
  readonly #own: OwnTasks;
  readonly #running: RunningTasks;
  readonly #end = new AbortController();
  readonly #hard = new AbortController();
  #pause = new AbortController();
  #failure: Failure | null = null;
  #indexBuilding: IndexBuildProgress | null = null;
  #work: Promise<void> = Promise.resolve();
  #member: Promise<void> = Promise.resolve();
  #afterFailure: Promise<void> = Promise.resolve();
  readonly #reverseTaken = new Condition();
  readonly removal: MetadataRemoval;

  constructor(readonly deps: MigrationPart) {
    setMaxListeners(listenersMax, this.#end.signal, this.#hard.signal);
    const { runtime, home, ownIds, owner, fleet } = deps;
    this.#migration = dependenciesOf(deps, (progress) => (this.#indexBuilding = progress));
    const { taskRecords, watch } = this.#migration;
    this.#watch = watch;
    this.#own = new OwnTasks(ownIds, owner, taskRecords, watch, fleet);
    this.#running = new RunningTasks(ownIds);
    this.removal = new MetadataRemoval(home.router, runtime, watch);
  }

  get watch(): MigrationWatch {
    return this.#watch;
  }

  get view(): MigrationView {
    return this.#watch.view;
  }

  /** The migration's failure, or the failure that ended this process's part. */
  get failure(): Failure | null {
    const { record } = this.view;
    const failure = this.#failure ?? record.failure;
    return failure === null
      ? null
      : { error: failure.error, errorDescription: failure.errorDescription + blocksAfterFailure(record) };
  }

  /** The migration's durable state. */
  get metadata(): Metadata {
    return this.#migration.metadata;
  }

  get indexBuilding(): IndexBuildProgress | null {
    return this.#indexBuilding;
  }

  /** Stats of the own tasks; the last known ones while none runs. */
  get stats(): readonly TaskStats[] {
    return this.#running.stats;
  }

  /** Stats of the own tasks that run now. */
  get liveStats(): readonly TaskStats[] {
    return this.#running.liveStats;
  }

  /** Stats of the own tasks' verifiers, the last stored ones while they do not run; null without verification. */
  get verification(): readonly (VerificationStats | null)[] | null {
    return this.#running.verification(this.view);
  }

  /** Resolves once the own tasks' verifiers have compared everything; null when none of them has to any more. */
  get comparing(): ((signal: AbortSignal) => Promise<void>) | null {
    return this.#running.comparing;
  }

  /** What the own tasks have copied of each collection; the last known while none runs. */
  namespaceParts(): readonly NamespacePart[] {
    return this.#running.namespaceParts();
  }

  get state(): MigrationState {
    const { record } = this.view;
    const own = this.#own.present;
    if (record.phase === 'reversing' || this.#isSwapped || this.isReverseRequested) return 'REVERSING';
    if (record.phase === 'committed') return 'COMMITTED';
    if (own.length > 0 && own.every((task) => task.commitRequested)) return 'COMMITTING';
    if (own.length > 0 && own.every((task) => task.paused)) return 'PAUSED';
    return 'RUNNING';
  }

  /** Aborted once the run ends, for any reason. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  /** Starts the work in the background. */
  begin(): void {
    if (this.failure !== null) {
      if (!this.view.record.sourceReleased) this.#afterFailure = this.#releaseSource();
      return;
    }
    this.#work = Promise.all([
      this.#guarded(this.#end.signal, (signal) => this.#watchUntilCommitted(signal)),
      this.#guarded(this.#end.signal, (signal) => leadWhenElected(this.#migration, signal)),
      this.#guarded(this.#end.signal, (signal) => keepSessions(this.#migration, signal)),
      this.#guarded(this.#end.signal, (signal) => this.#own.endWhenReplaced(signal)),
    ]).then(() => undefined);
    this.#beginFollowing();
    void this.#own.answerMemberChecks(this.deps.runtime.clock, this.#end.signal);
    void this.#watchFailure();
    void this.removal.watch(this.#end.signal);
    this.#afterFailure = this.#work.then(() => this.#releaseSource());
  }

  /** Works on the own tasks until the end or the next pause. */
  #beginFollowing(): void {
    const stop = AbortSignal.any([this.#end.signal, this.#pause.signal]);
    this.#member = this.#guarded(stop, (each) => this.#follow(each));
  }

  /** Stops the stages once what is in flight is durable. @param followed commands of the fleet that it settles */
  async pause(followed: number): Promise<void> {
    await this.#own.set({ paused: true, followed }, this.#end.signal);
    this.#pause.abort(new ConvoyError('notReady', 'paused'));
    await this.#member;
  }

  /** Continues the stages where they stopped. */
  async resume(followed: number): Promise<void> {
    await this.#own.set({ paused: false, followed }, this.#end.signal);
    this.#pause = new AbortController();
    this.#beginFollowing();
  }

  /** Records that this process's tasks should commit; the leader starts once all tasks of the fleet should. */
  async requestCommit(signal: AbortSignal): Promise<void> {
    await this.#request({ commitRequested: true }, AbortSignal.any([this.#end.signal, signal]));
  }

  /** Whether any instance of the fleet has just taken the command to commit. */
  async isCommitRequested(signal: AbortSignal): Promise<boolean> {
    return isCommitJustRequested(await this.#watch.refresh(signal), this.deps.runtime.clock.now_ms());
  }

  /** Records that this process's tasks should sync in the other direction; the leader swaps once all tasks should. */
  async requestReverse(): Promise<void> {
    // Its remaining writes belong to the direction that ends.
    await this.#member;
    await this.#request({ reverseRequested: swapsOf(this.view.record) }, this.#end.signal);
    this.#reverseTaken.changed();
  }

  /** Reads the migration's record now. */
  async refresh(signal: AbortSignal): Promise<MigrationView> {
    return this.#watch.refresh(signal);
  }

  /** Resolves with whether the clusters were swapped, after a command to reverse, before the run ended. */
  async untilSwapped(): Promise<boolean> {
    const { signal } = this.#end;
    await this.#reverseTaken.until(() => this.isReverseRequested, signal).catch(() => undefined);
    await this.#guarded(signal, (stop) =>
      this.#watch.runWhile((each) => swapWhenRequested(this.#migration, each), stop),
    );
    return this.#isSwapped && !signal.aborted;
  }

  get #isSwapped(): boolean {
    return swapsOf(this.view.record) > swapsOf(this.deps.initial.record);
  }

  /** Whether this process's tasks have taken the command to reverse. */
  get isReverseRequested(): boolean {
    const { record, tasks } = this.view;
    return this.deps.ownIds.every((id) => isReverseRequested(record, tasks.get(id)));
  }

  /** Ends the work cleanly within seconds; the durable state stays. */
  async close(): Promise<void> {
    this.#end.abort(new ConvoyError('shuttingDown'));
    const timer = setTimeout(() => this.#hard.abort(new ConvoyError('shuttingDown')), hardStop_ms);
    await Promise.allSettled([this.#work, this.#member, this.#afterFailure]);
    clearTimeout(timer);
    this.#hard.abort(new ConvoyError('shuttingDown'));
  }

  async #follow(stop: AbortSignal): Promise<void> {
    if (this.view.record.phase === 'committed') return;
    // The tasks' records describe the other direction until the leader starts this one.
    await this.#watch.until(({ record }) => record.phase !== 'reversing', stop);
    // Takes paused tasks too: a former owner that thaws must not resume them unnoticed.
    const owned = await this.#own.take(writeSessionsMax(this.deps.runtime.config), stop);
    // Once the opening is decided there is nothing left to sync; taking the tasks still deposes a former owner.
    if (owned.every(({ paused }) => paused) || isOpeningDecided(this.view.record)) return;
    try {
      await syncTasks(
        this.#migration,
        owned,
        (syncs, verified) => this.#running.begin(syncs, verified),
        stop,
        this.#hard.signal,
      );
    } finally {
      this.#running.end();
    }
  }

  async #request(set: Partial<TaskRecord>, signal: AbortSignal): Promise<void> {
    await this.#own.set({ ...set, requestedAt: new Date(this.deps.runtime.clock.now_ms()) }, signal);
    this.deps.fleet.wake();
  }

  /**
   * After a failure before the opening, user writes on the source are allowed again. Every process does this once its
   * own work has ended, because the leader among them may just have blocked them.
   */
  async #releaseSource(): Promise<void> {
    if (this.failure !== null) await releaseSource(this.#migration, this.#hard.signal);
  }

  /** The metadata left after the commit does not concern this process: a cleanup may remove it. */
  async #watchUntilCommitted(stop: AbortSignal): Promise<void> {
    const watch = this.#watch;
    await watch.runWhile((signal) => watch.until(({ record }) => record.phase === 'committed', signal), stop);
  }

  /** A failure of any instance ends the work of all. */
  async #watchFailure(): Promise<void> {
    await this.#watch.until(({ record }) => record.failure !== null, this.#end.signal).catch(() => undefined);
    const failure = this.view.record.failure;
    if (failure === null) return;
    this.deps.runtime.logger.error({ event: 'migrationFailed', ...failure }, 'the migration has failed');
    this.#end.abort(new ConvoyError(failure.error, failure.errorDescription));
  }

  /** Runs work until its signal; any other end is a failure of the migration. */
  async #guarded(stop: AbortSignal, work: (stop: AbortSignal) => Promise<void>): Promise<void> {
    try {
      await work(stop);
    } catch (error) {
      if (!stop.aborted) await this.#fail(error);
    }
  }

  async #fail(thrown: unknown): Promise<void> {
    const { runtime, fleet } = this.deps;
    this.#failure = namedFailure(thrown);
    runtime.logger.error(
      { event: 'failed', error: this.#failure.error, err: thrown },
      'this instance has met a failure',
    );
    const isReplaced = async () => this.#own.isReplaced(await this.#watch.refresh(this.#hard.signal));
    this.#failure = await recordFailure({ records: this.#migration.records, isReplaced }, thrown, this.#hard.signal);
    fleet.wake();
    this.#end.abort(this.#failure);
    // Another process owns the task: this one must not take the identity back when that process is silent for a while.
    if (this.#failure.error === 'staleEpoch') await fleet.leave();
  }
}

/** What the pipelines and verifiers of the own tasks show, and what they showed last when they do not run. */
export class RunningTasks {
  #syncs: readonly SyncPipeline[] = [];
  #verified: readonly VerifiedTask[] = [];
  #stats: readonly TaskStats[] = [];
  #namespaceParts: readonly NamespacePart[] = [];

  constructor(private readonly ids: readonly string[]) {}

  begin(syncs: readonly SyncPipeline[], verified: readonly VerifiedTask[]): void {
    [this.#syncs, this.#verified] = [syncs, verified];
  }

  end(): void {
    this.#stats = this.liveStats;
    this.namespaceParts();
    this.begin([], []);
  }

  /** The last known ones while none runs. */
  get stats(): readonly TaskStats[] {
    if (this.#syncs.length > 0) this.#stats = this.liveStats;
    return this.#stats;
  }

  /** Of the tasks that run now. */
  get liveStats(): readonly TaskStats[] {
    return this.#syncs.map((sync) => sync.stats());
  }

  /** Of the verifiers, the last stored ones while they do not run; null without verification. */
  verification({ record, tasks }: MigrationView): readonly (VerificationStats | null)[] | null {
    if (!isVerified(record)) return null;
    return this.ids.map(
      (id) => this.#verified.find(({ taskId }) => taskId === id)?.stats() ?? tasks.get(id)?.verification?.stats ?? null,
    );
  }

  /** Waits for the first comparisons of those that run; null when there are none, or they are over. */
  get comparing(): ((signal: AbortSignal) => Promise<void>) | null {
    const left = this.#verified.filter(({ hasCompared }) => !hasCompared);
    if (left.length === 0) return null;
    return async (signal) => {
      await Promise.all(left.map((task) => task.untilCompared(signal)));
    };
  }

  /** What has been copied of each collection; the last known while none runs. */
  namespaceParts(): readonly NamespacePart[] {
    if (this.#syncs.length > 0) this.#namespaceParts = this.#syncs.flatMap((sync) => sync.namespaceParts());
    return this.#namespaceParts;
  }
}
