import type { Mismatch, MismatchQuery } from '@convoy/api/contract/mismatch';
import { idleProgress, type MigrationState, type Progress, progressInfo } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Failure, InstanceReport } from '@convoy/api/fleet/fleet';
import { untilFirst } from '../../async/waiting.js';
import { MetricsPublisher } from '../../metrics/publish-metrics.js';
import { CommitOffer } from './commit-offer.js';
import { IdleDetector } from '../../store/migration-view.js';
import { ReportedMismatches } from '../migration/mismatches.js';
import type { Runtime } from '../migration/runtime.js';
import type { InstanceSetup } from './joined-migration.js';
import type { MigrationRun } from './migration-run.js';
import type { TaskStats } from '../task/task-stats.js';
import { lastingMismatches } from '../task/verification-stats.js';
import { LagObserver } from './migration-observer.js';
import { progressOf, runWarnings } from './progress-view.js';
import { instanceStatsOf, namesFleet, Rates, reportInterval_ms, reportOf } from './report.js';
import { RunDetails } from './run-details.js';

/**
 * The pause between reports once an instance's state and totals have not changed for `idle_ms`: peers see the next
 * change within this time.
 */
const idleReport_ms = 1_000;
const idle_ms = 10_000;

/** Where an instance stands. */
export interface InstanceStatus {
  isInitialized: boolean;
  state: MigrationState;
  /** Null before the start. */
  run: MigrationRun | null;
  failure: Failure | null;
}

/** The instance, as it shows itself. */
export interface ReportedInstance {
  readonly status: InstanceStatus;
  /** Why a recorded command cannot be taken. */
  readonly refused: InstanceReport['refused'];
  mismatches(query: MismatchQuery): AsyncIterable<Mismatch>;
}

/** Reports one instance: its progress to users, reports to peers, metrics, and details that watchers read. */
export class InstanceReporter {
  readonly offer: CommitOffer;
  readonly #rates: Rates;
  readonly #mismatches = new ReportedMismatches();
  readonly #metrics: MetricsPublisher;
  readonly #details = new RunDetails(() => this.#expectedIds());
  /** Of the state and the totals. */
  readonly #idle: IdleDetector;
  #observer: LagObserver | null = null;
  #observing: Promise<void> = Promise.resolve();

  constructor(
    private readonly setup: InstanceSetup,
    private readonly instance: ReportedInstance,
  ) {
    const { identity, fleet, runtime } = setup;
    this.offer = new CommitOffer(identity.id, fleet, runtime.clock, () => this.#observer?.versionRefusal ?? null);
    this.#rates = new Rates(runtime.clock);
    this.#metrics = new MetricsPublisher(runtime.metrics, runtime.config.memoryBytesMax);
    this.#idle = new IdleDetector(runtime.clock, idle_ms);
  }

  /** Observes a run, in the place of the one before, until the signal. */
  follow(run: MigrationRun, signal: AbortSignal): void {
    const observer = new LagObserver(run, this.setup.runtime.clock);
    this.#observer = observer;
    this.#observing = observer.measure(AbortSignal.any([signal, run.ended])).catch(() => undefined);
    this.#details.follow(run, signal);
  }

  /** Settles once nothing is observed and no details are published any more. */
  async ended(): Promise<void> {
    await this.#observing;
    await this.#details.ended;
  }

  /** Publishes again and again until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { instance } = this;
    const { runtime } = this.setup;
    const mismatches = (query: MismatchQuery): AsyncIterable<Mismatch> => instance.mismatches(query);
    for (;;) {
      this.#mismatches.refresh(instance.status.run?.view ?? null, runtime.clock.monotonic_ms(), mismatches);
      this.publish();
      const pause_ms = Math.max(reportInterval_ms(this.#expectedIds().length), this.#isIdle() ? idleReport_ms : 0);
      await reportPause(instance.status.run, runtime, pause_ms, signal);
    }
  }

  /** @throws ConvoyError the failure of the instance or its migration */
  progress(): Promise<Progress> {
    const { failure } = this.instance.status;
    if (failure !== null) return Promise.reject(new ConvoyError(failure.error, failure.errorDescription));
    this.#observer?.observe();
    return Promise.resolve(this.#progress());
  }

  /** Publishes the metrics and the report as they are now. */
  publish(): void {
    const { runtime, fleet, identity, clusters } = this.setup;
    const { run, state, failure } = this.instance.status;
    this.#observer?.observe();
    const progress = this.#progress();
    const leads = fleet.isLeader();
    const seen = this.#observer?.seen ?? null;
    this.#metrics.publish({
      state,
      progress,
      stats: run?.stats ?? [],
      observed: seen === null ? null : { ...seen, oplogRemaining_seconds: this.#oplogRemaining() ?? null },
      hasFailed: failure !== null,
      leads,
      leaderEpoch: run?.view.record.leaderEpoch ?? null,
      mismatches: lastingMismatches(run?.verification ?? []),
      refusedMessages: fleet.refusedMessages?.() ?? new Map<string, number>(),
    });
    const expectedIds = this.#expectedIds();
    const namesAll = namesFleet(identity.id, expectedIds, leads);
    const report = {
      identity,
      state,
      failure,
      ready: { canCommit: this.offer.isOwnReady(run), canWrite: run?.view.record.canWrite ?? false },
      expectedIds: namesAll ? expectedIds : [],
      clusterIds: clusters.ids,
      optionsDigest: run?.view.record.digest ?? null,
      step: run?.view.record.phase ?? null,
      progress,
      oplogRemaining_seconds: this.#oplogRemaining(),
      mismatches: [...this.#mismatches.mismatches],
      refused: this.instance.refused,
      stats: run === null ? undefined : instanceStatsOf(run, runtime.config.memoryBytesMax, namesAll),
    };
    fleet.report(reportOf(report, this.#rates));
  }

  #progress(): Progress {
    const { runtime, clusters, identity, fleet } = this.setup;
    const { run, isInitialized } = this.instance.status;
    const ofFleet = fleet.warnings?.() ?? [];
    if (!isInitialized)
      return {
        ...idleProgress(),
        state: 'INITIALIZING',
        info: progressInfo.initializing,
        warnings: [...clusters.warnings, ...ofFleet],
      };
    if (run === null || this.#observer === null)
      return { ...idleProgress(), warnings: ofFleet.length === 0 ? null : ofFleet };
    return progressOf({
      state: run.state,
      view: run.view,
      ownIds: run.deps.ownIds,
      stats: run.stats,
      verification: run.verification,
      syncID: identity.syncID,
      leader: fleet.leader(),
      directionMapping: {
        Source: `${run.deps.source.name}: ${run.deps.source.displayHost}`,
        Destination: `${run.deps.destination.name}: ${run.deps.destination.displayHost}`,
      },
      canCommit: this.offer.stands(run),
      commitBlockers: this.offer.blockers(run),
      indexBuilding: run.indexBuilding,
      observed: this.#observer.seen,
      warnings: [...runWarnings(run.view, run.isReverseRequested, runtime), ...this.offer.warnings(run), ...ofFleet],
      isMetadataRemoved: run.removal.isRemoved,
    });
  }

  /** Undefined where no oplog is readable, or needed any more. */
  #oplogRemaining(): number | null | undefined {
    const seen = this.#observer?.seen;
    return seen?.seesOplogs === true && this.instance.status.state !== 'COMMITTED'
      ? seen.oplogRemaining_seconds
      : undefined;
  }

  /** Ids of the instances of the fleet: one for each sync task, unless this instance has them all. */
  #expectedIds(): string[] {
    const { runtime, identity } = this.setup;
    const { run } = this.instance.status;
    if (run === null) return [];
    return runtime.config.id === undefined ? [identity.id] : run.view.record.taskIds;
  }

  /** Whether the state and the totals have not changed for `idle_ms`. */
  #isIdle(): boolean {
    const { run, state, failure } = this.instance.status;
    const sum = (of: (one: TaskStats) => number) => (run?.stats ?? []).reduce((total, one) => total + of(one), 0);
    const totals = [sum((one) => one.copiedBytes), sum((one) => one.eventsApplied)];
    return this.#idle.isIdle([state, failure?.error, ...totals].join());
  }
}

/**
 * Waits until the next report is due: for a time, but not beyond a change of the permission to write, or the end of the
 * first comparison, which users and peers wait for.
 * @param run null while there is no migration
 */
export async function reportPause(
  run: Pick<MigrationRun, 'watch' | 'comparing'> | null,
  runtime: Runtime,
  longest_ms: number,
  signal: AbortSignal,
): Promise<void> {
  const interval = (each: AbortSignal) => runtime.clock.sleep(longest_ms, each);
  if (run === null) return interval(signal);
  const { watch, comparing } = run;
  const { canWrite } = watch.view.record;
  const changed = (each: AbortSignal) => watch.until(({ record }) => record.canWrite !== canWrite, each);
  await untilFirst([interval, changed, ...(comparing === null ? [] : [comparing])], signal);
}
