import { setMaxListeners } from 'node:events';
import type { Warning, MigrationState } from '@convoy/api/contract/progress';
import { ConvoyError, toConvoyError } from '@convoy/api/errors/convoy-error';
import type { NamespacePart } from '@convoy/api/fleet/published-details';
import type { Failure, Fleet } from '@convoy/api/fleet/fleet';
import type { IndexBuildProgress } from '../../catalog/make/index-builds.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { listenersMax } from '../../store/run-together.js';
import { turnsOf } from '../../store/reversal.js';
import { DdlJournal } from '../../store/ddl-journal.js';
import { HistoryRecord } from '../../store/history-record.js';
import { Metadata } from '../../store/metadata.js';
import { isOpeningDecided, isVerified, MigrationRecords } from '../../store/migration-record.js';
import { type TaskRecord, TaskRecords } from '../../store/task-record.js';
import { leadWhenElected } from './leader.js';
import { keepSessions } from './keep-sessions.js';
import { MetadataRemoval } from './metadata-removal.js';
import { syncTasks } from './member.js';
import type { MigrationDependencies } from '../migration/migration-dependencies.js';
import { type MigrationView, MigrationWatch } from '../migration/migration-watch.js';
import { recordFailure } from './record-failure.js';
import { releaseSource } from './release-source.js';
import { runWarnings } from './run-warnings.js';
import { type Runtime, writeSessionsMax } from '../migration/runtime.js';
import type { TaskStats } from '../stats/task-stats.js';
import type { SyncPipeline } from '../task/sync-pipeline.js';
import { Condition } from '../../store/condition.js';
import { isReverseRequested, swapWhenRequested } from '../leader/swap-clusters.js';
import type { VerifiedTask } from '../task/verification-task.js';
import type { VerificationStats } from '../stats/verification-stats.js';
import { blocksAfterFailure } from '../migration/write-blocks.js';

/** Time for writes in flight at the end; then their connections are cut. */
const hardStop_ms = 4000;

/** Delay before a failed answer is given again: a cleanup takes a silent process for gone. */
const answerAgain_ms = 500;

/** What a run is made of. */
export interface MigrationRunDependencies {
  runtime: Runtime;
  fleet: Fleet;
  source: ClusterClient;
  destination: ClusterClient;
  /** The cluster with the migration's state. */
  home: ClusterClient;
  /** The sync tasks of this process. */
  ownIds: readonly string[];
  owner: TaskRecord['owner'];
  initial: MigrationView;
}

/**
 * One process's part in one direction of a migration: from its start, or the process's restart, to COMMITTED, a
 * failure, or the swap of the clusters.
 */
export class MigrationRun {
  readonly #records: MigrationRecords;
  readonly #tasks: TaskRecords;
  readonly #journal: DdlJournal;
  readonly #watch: MigrationWatch;
  readonly #metadata: Metadata;
  readonly #end = new AbortController();
  readonly #hard = new AbortController();
  #pause = new AbortController();
  #syncs: readonly SyncPipeline[] = [];
  #stats: readonly TaskStats[] = [];
  #verified: readonly VerifiedTask[] = [];
  #namespaceParts: readonly NamespacePart[] = [];
  #failure: Failure | null = null;
  #indexBuilding: IndexBuildProgress | null = null;
  #work: Promise<void> = Promise.resolve();
  #member: Promise<void> = Promise.resolve();
  #afterFailure: Promise<void> = Promise.resolve();
  /** The tasks as this process has taken them; empty before that, and after a failure to take them. */
  #taken: Promise<readonly TaskRecord[]> = Promise.resolve([]);
  #hasTaken = false;
  readonly #reported = new Condition();
  readonly removal: MetadataRemoval;

  constructor(readonly deps: MigrationRunDependencies) {
    setMaxListeners(listenersMax, this.#end.signal, this.#hard.signal);
    const { runtime, fleet, home } = deps;
    this.#metadata = new Metadata(home.router, runtime.retrying);
    this.#records = new MigrationRecords(this.#metadata);
    this.#tasks = new TaskRecords(this.#metadata);
    this.#journal = new DdlJournal(this.#metadata, this.#records);
    this.#watch = new MigrationWatch(this.#records, this.#tasks, fleet, runtime, deps.initial, deps.ownIds);
    this.removal = new MetadataRemoval({ home: home.router, runtime, watch: this.#watch });
  }

  get watch(): Pick<MigrationWatch, 'view' | 'journalled' | 'until'> {
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

  /** The stored history of the migration. */
  get historyRecord(): HistoryRecord {
    return new HistoryRecord(this.#metadata);
  }

  get indexBuilding(): IndexBuildProgress | null {
    return this.#indexBuilding;
  }

  /** Stats of the own tasks; the last known ones while none runs. */
  get stats(): readonly TaskStats[] {
    if (this.#syncs.length > 0) this.#stats = this.liveStats;
    return this.#stats;
  }

  /** Stats of the own tasks that run now. */
  get liveStats(): readonly TaskStats[] {
    return this.#syncs.map((sync) => sync.stats());
  }

  /** Stats of the own tasks' verifiers, the last stored ones while they do not run; null without verification. */
  get verification(): readonly (VerificationStats | null)[] | null {
    const { record, tasks } = this.view;
    if (!isVerified(record)) return null;
    return this.deps.ownIds.map(
      (id) => this.#verified.find(({ taskId }) => taskId === id)?.stats() ?? tasks.get(id)?.verification?.stats ?? null,
    );
  }

  /** What the own tasks have copied of each collection; the last known while none runs. */
  namespaceParts(): readonly NamespacePart[] {
    if (this.#syncs.length > 0) this.#namespaceParts = this.#syncs.flatMap((sync) => sync.namespaceParts());
    return this.#namespaceParts;
  }

  get state(): MigrationState {
    const { record, tasks } = this.view;
    const own = this.deps.ownIds.flatMap((id) => tasks.get(id) ?? []);
    if (record.phase === 'reversing' || this.#isSwapped || this.#isReported) return 'REVERSING';
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
    const { runtime, destination, ownIds } = this.deps;
    this.#work = Promise.all([
      this.#guarded(this.#end.signal, (signal) => this.#watchUntilCommitted(signal)),
      this.#guarded(this.#end.signal, (signal) => leadWhenElected(this.#deps(), signal)),
      this.#guarded(this.#end.signal, (signal) => keepSessions(runtime, destination, this.#watch, ownIds, signal)),
      this.#guarded(this.#end.signal, (signal) => this.#endWhenReplaced(signal)),
    ]).then(() => undefined);
    this.#member = this.#guarded(AbortSignal.any([this.#end.signal, this.#pause.signal]), (stop) => this.#follow(stop));
    void this.#answerMemberChecks();
    void this.#watchFailure();
    void this.removal.watch(this.#end.signal);
    this.#afterFailure = this.#work.then(() => this.#releaseSource());
  }

  /** Stops the stages once what is in flight is durable. @param followed commands of the fleet that it settles */
  async pause(followed: number): Promise<void> {
    await this.#setOwn({ paused: true, followed });
    this.#pause.abort(new ConvoyError('notReady', 'paused'));
    await this.#member;
  }

  /** Continues the stages where they stopped. */
  async resume(followed: number): Promise<void> {
    await this.#setOwn({ paused: false, followed });
    this.#pause = new AbortController();
    this.#member = this.#guarded(AbortSignal.any([this.#end.signal, this.#pause.signal]), (stop) => this.#follow(stop));
  }

  /** Records that this process's tasks should commit; the leader starts once all tasks of the fleet should. */
  async requestCommit(): Promise<void> {
    await this.#request({ commitRequested: true });
  }

  /** Whether any instance of the fleet has taken the command to commit. */
  async isCommitRequested(signal: AbortSignal): Promise<boolean> {
    const { tasks } = await this.#watch.refresh(signal);
    return [...tasks.values()].some((task) => task.commitRequested);
  }

  /** Records that this process's tasks should sync in the other direction; the leader swaps once all tasks should. */
  async requestReverse(): Promise<void> {
    // Its remaining writes belong to the direction that ends.
    await this.#member;
    await this.#request({ reverseRequested: turnsOf(this.view.record) });
    this.#reported.changed();
  }

  /** Reads the migration's record now. */
  async refresh(signal: AbortSignal): Promise<MigrationView> {
    return this.#watch.refresh(signal);
  }

  /** Resolves with whether the clusters were swapped, after a command to reverse, before the run ended. */
  async untilSwapped(): Promise<boolean> {
    const { signal } = this.#end;
    await this.#reported.until(() => this.#isReported, signal).catch(() => undefined);
    await this.#guarded(signal, (stop) => this.#watchWhile(stop, (each) => swapWhenRequested(this.#deps(), each)));
    return this.#isSwapped && !signal.aborted;
  }

  get #isSwapped(): boolean {
    return turnsOf(this.view.record) > turnsOf(this.deps.initial.record);
  }

  get #isReported(): boolean {
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

  warnings(): Warning[] {
    return runWarnings(this.view, this.#isReported, this.deps.runtime);
  }

  async #follow(stop: AbortSignal): Promise<void> {
    if (this.view.record.phase === 'committed') return;
    // The tasks' records describe the other direction until the leader starts this one.
    await this.#watch.until(({ record }) => record.phase !== 'reversing', stop);
    // Takes paused tasks too: a former owner that thaws must not resume them unnoticed.
    const taking = this.#take(stop);
    this.#taken = taking.catch(() => []);
    const owned = await taking;
    // Once the opening is decided there is nothing left to sync; taking the tasks still deposes a former owner.
    if (owned.every(({ paused }) => paused) || isOpeningDecided(this.view.record)) return;
    try {
      await syncTasks(
        this.#deps(),
        owned,
        (syncs, verified) => ([this.#syncs, this.#verified] = [syncs, verified]),
        stop,
        this.#hard.signal,
      );
    } finally {
      this.#stats = this.liveStats;
      this.namespaceParts();
      this.#syncs = [];
      this.#verified = [];
    }
  }

  async #take(stop: AbortSignal): Promise<TaskRecord[]> {
    const { ownIds, owner, runtime } = this.deps;
    const owned: TaskRecord[] = [];
    for (const id of ownIds) owned.push(await this.#tasks.take(id, owner, writeSessionsMax(runtime.config), stop));
    await this.#watch.refresh(stop);
    this.#hasTaken = true;
    return owned;
  }

  /**
   * Ends this process once another has taken its tasks. This matters where no write would be refused: before the copy,
   * and paused. Otherwise this process would take the identity back when the other one is silent for a while.
   * @throws ConvoyError `staleEpoch` then
   */
  async #endWhenReplaced(signal: AbortSignal): Promise<void> {
    const view = await this.#watch.until((seen) => seen.record.phase === 'committed' || this.#isReplaced(seen), signal);
    if (this.#isReplaced(view)) throw new ConvoyError('staleEpoch');
  }

  #isReplaced({ tasks }: MigrationView): boolean {
    const { ownIds, owner } = this.deps;
    return this.#hasTaken && ownIds.some((id) => (tasks.get(id)?.owner ?? owner).incarnation !== owner.incarnation);
  }

  #deps(): MigrationDependencies {
    const { runtime, fleet, source, destination } = this.deps;
    return {
      runtime,
      fleet,
      source,
      destination,
      metadata: this.#metadata,
      records: this.#records,
      taskRecords: this.#tasks,
      journal: this.#journal,
      watch: this.#watch,
      onIndexProgress: (progress) => (this.#indexBuilding = progress),
    };
  }

  async #request(set: Partial<TaskRecord>): Promise<void> {
    await this.#setOwn({ ...set, requestedAt: new Date(this.deps.runtime.clock.now_ms()) });
    this.deps.fleet.wake();
  }

  async #setOwn(set: Partial<TaskRecord>): Promise<void> {
    const taken = await this.#taken;
    for (const id of this.deps.ownIds) {
      // Uses the epoch of this process: a replaced process must not speak for its successor.
      const own = taken.find((task) => task._id === id) ?? this.view.tasks.get(id);
      const epoch = own?.epoch ?? 0;
      await this.#tasks.update(id, epoch, set, this.#end.signal);
    }
    await this.#watch.refresh(this.#end.signal);
  }

  /**
   * After a failure before the opening, user writes on the source are allowed again. Every process does this once its
   * own work has ended, because the leader among them may just have blocked them.
   */
  async #releaseSource(): Promise<void> {
    if (this.failure !== null) await releaseSource(this.#deps(), this.#hard.signal);
  }

  /** The metadata left after the commit does not concern this process: a cleanup may remove it. */
  async #watchUntilCommitted(stop: AbortSignal): Promise<void> {
    await this.#watchWhile(stop, (signal) => this.#watch.until(({ record }) => record.phase === 'committed', signal));
  }

  /** Keeps the view current while some work lasts. */
  async #watchWhile(stop: AbortSignal, work: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const over = new AbortController();
    const watching = this.#watch.run(AbortSignal.any([stop, over.signal])).catch((error: unknown) => {
      if (!over.signal.aborted) throw error;
    });
    await Promise.race([work(stop).finally(() => over.abort()), watching]);
  }

  /** Shows a cleanup that this process is at work. */
  async #answerMemberChecks(): Promise<void> {
    const { signal } = this.#end;
    for (let answered: string | undefined; !signal.aborted;) {
      const view = await this.#watch.until(({ record }) => record.memberCheck !== answered, signal).catch(() => null);
      if (view === null) return;
      const called = view.record.memberCheck;
      try {
        await this.#setOwn({ present: called ?? '' });
        answered = called;
      } catch {
        await this.deps.runtime.clock.sleep(answerAgain_ms, signal).catch(() => undefined);
      }
    }
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
    this.#failure = toConvoyError(thrown);
    runtime.logger.error(
      { event: 'failed', error: this.#failure.error, err: thrown },
      'this instance has met a failure',
    );
    const isReplaced = async (): Promise<boolean> => this.#isReplaced(await this.#watch.refresh(this.#hard.signal));
    this.#failure = await recordFailure({ records: this.#records, isReplaced }, thrown, this.#hard.signal);
    fleet.wake();
    this.#end.abort(this.#failure);
    // Another process owns the task: this one must not take the identity back when that process is silent for a while.
    if (this.#failure.error === 'staleEpoch') await fleet.leave();
  }
}
