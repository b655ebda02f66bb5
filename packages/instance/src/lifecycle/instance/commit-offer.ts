import { steadyLagMax_seconds } from '@convoy/api/contract/command-rules';
import {
  blockedBy,
  blockerText,
  type CommitBlocker,
  type OwnBlocker,
  reportedBlockers,
} from '@convoy/api/contract/commit-blocker';
import type { Warning } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Fleet } from '@convoy/api/fleet/fleet';
import { type Clock, NoAnswerError, within } from '../../async/clock.js';
import { nameSome } from '../../catalog/name-some.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { isOlder, readFeatureVersion, releaseText } from '../../cluster/topology.js';
import { awaitsIndexes } from '../migration/migration-dependencies.js';
import { buildsWarning, cannotCarryWarning, definitionsWarning, hasWarning } from '../../store/migration-view.js';
import type { MigrationRun } from './migration-run.js';
import { offeredLagMax_seconds, type TaskStats } from '../task/task-stats.js';
import type { VerificationStats } from '../task/verification-stats.js';

/** The part of a run that an offer depends on. */
export interface OfferedRun extends Pick<MigrationRun, 'failure' | 'state' | 'view' | 'isCommitRequested'> {
  readonly deps: Pick<MigrationRun['deps'], 'ownIds'>;
  readonly liveStats: readonly JudgedStats[];
  readonly verification: readonly (OfferedVerification | null)[] | null;
}

type OfferedVerification = Pick<VerificationStats, 'blocker'>;

/** How long progress vouches for an offer: peers see each other about a second late, and a request takes a while. */
const offeredFor_ms = 10_000;
/** How long a command to commit waits for an offer that was just withdrawn. */
const patience_ms = 12_000;
const poll_ms = 100;
/** After the copy, an instance offers a commit within seconds; a longer delay is worth a warning. */
const unoffered_ms = 15_000;

/** Whether a commit would be accepted, as this instance sees its fleet, and what is missing otherwise. */
export class CommitOffer {
  readonly #readiness = new CommitReadiness();
  #offeredAt_ms = -Infinity;
  /** Since when something missing has prevented an offer; null while it is offered, or the copy is not done. */
  #unofferedSince_ms: number | null = null;

  /**
   * @param id the own instance
   * @param versionRefusal why a commit would be refused for the clusters' versions, as last seen; null if it would not
   */
  constructor(
    private readonly id: string,
    private readonly fleet: Pick<Fleet, 'reports'>,
    private readonly clock: Pick<Clock, 'monotonic_ms' | 'sleep'>,
    private readonly versionRefusal: () => string | null,
  ) {}

  /** Whether the own tasks are ready. */
  isOwnReady(run: OfferedRun | null): boolean {
    return this.#missingHere(run).length === 0;
  }

  /** What prevents a commit, as this instance sees its fleet; null once a commit is taken. */
  blockers(run: OfferedRun): CommitBlocker[] | null {
    return run.state === 'COMMITTING' || run.state === 'COMMITTED' ? null : [...this.#missing(run)];
  }

  /** Whether every instance of the fleet is ready; silent ones are not. */
  stands(run: OfferedRun | null): boolean {
    if (this.#missing(run).length > 0) return false;
    this.#offeredAt_ms = this.clock.monotonic_ms();
    return true;
  }

  /** Why no commit has been offered for a while, although everything is copied; call it several times a second. */
  warnings(run: OfferedRun): readonly Warning[] {
    const isDue =
      run.state === 'RUNNING' && run.liveStats.length > 0 && run.liveStats.every(({ copyDone }) => copyDone);
    const missing = isDue ? this.#missing(run) : [];
    if (missing.length === 0) {
      this.#unofferedSince_ms = null;
      return [];
    }
    const now_ms = this.clock.monotonic_ms();
    this.#unofferedSince_ms ??= now_ms;
    if (now_ms - this.#unofferedSince_ms < unoffered_ms) return [];
    const description = `${run.deps.ownIds.join(', ')} does not offer a commit: ${textOf(missing)}.`;
    return [{ name: 'commitNotOffered', description }];
  }

  /**
   * Resolves when a commit may be taken: it is offered, or another instance has taken it. Waits for an offer that stood
   * a moment ago, since progress has promised it: the report of a paused or disconnected peer may come late.
   * @throws ConvoyError `cannotCommit`, which names what is missing; `unsupportedServerVersion` for versions alone
   */
  async untilItStands(run: OfferedRun, signal: AbortSignal): Promise<void> {
    const until_ms =
      this.#offeredAt_ms + offeredFor_ms < this.clock.monotonic_ms() ? 0 : this.clock.monotonic_ms() + patience_ms;
    while (!this.stands(run) && !(await run.isCommitRequested(signal))) {
      const missing = this.#missing(run);
      const isVersion = missing.length > 0 && missing.every(({ reason }) => reason === 'featureVersion');
      if (isVersion || this.clock.monotonic_ms() >= until_ms)
        throw new ConvoyError(
          isVersion ? 'unsupportedServerVersion' : 'cannotCommit',
          `The migration cannot be committed yet: ${textOf(missing)}. Wait until canCommit is true.`,
        );
      await this.clock.sleep(poll_ms, signal);
    }
  }

  #missing(run: OfferedRun | null): readonly CommitBlocker[] {
    const here = this.#missingHere(run).map((blocker) => ({ instance: this.id, ...blocker }));
    return here.length > 0 || run === null ? here : this.#missingElsewhere(run);
  }

  #missingHere(run: OfferedRun | null): readonly OwnBlocker[] {
    if (run?.failure !== null || (run.state !== 'RUNNING' && run.state !== 'COMMITTING')) {
      this.#readiness.withdraw();
      this.#offeredAt_ms = -Infinity;
      return [notRunning(run)];
    }
    const blockers = run.verification?.flatMap((stats) => verifierBlocker(stats) ?? []) ?? [];
    if (blockers.length > 0) this.#readiness.withdraw();
    const pending = blockers.length > 0 ? blockers : this.#readiness.judge(run.liveStats, run.deps.ownIds.length);
    const missing = pending.length > 0 ? pending : missingDefinitions(run.view.record);
    const refusal = this.versionRefusal();
    return refusal === null ? missing : [...missing, blockedBy('featureVersion', refusal)];
  }

  /** A peer's report of readiness counts only where its record says that its copy is done. */
  #missingElsewhere({ view, deps }: OfferedRun): readonly CommitBlocker[] {
    const reports = this.fleet.reports();
    return view.record.taskIds.flatMap((instance): readonly CommitBlocker[] => {
      if (deps.ownIds.includes(instance)) return [];
      const seen = reports.get(instance);
      if (seen?.fresh !== true) return [{ instance, ...blockedBy('silent', 'it does not answer') }];
      const { ready, progress } = seen.report;
      const task = view.tasks.get(instance);
      if (task?.copyDone !== true || task.paused)
        return reportedBlockers(
          instance,
          progress.commitBlockers,
          blockedBy('copyNotRecorded', 'it has not recorded the end of its copy'),
        );
      return ready.canCommit
        ? []
        : reportedBlockers(instance, progress.commitBlockers, blockedBy('notReady', 'it is not ready'));
    });
  }
}

const indexesAwaited = blockedBy('buildingIndexes', 'the leader builds the indexes that waited for the copy');
const definitionsDiffer = blockedBy(
  'definitions',
  `indexes, options or views of the destination differ (warning ${definitionsWarning})`,
);

const carryAwaited = blockedBy('carry', `carry cannot be carried out (warning ${cannotCarryWarning})`);

const lookAwaited = blockedBy('inventory', 'the leader has not looked yet at what a commit would leave behind');

const buildsAwaited = blockedBy('buildingIndexes', `indexes are being built (warning ${buildsWarning})`);

function missingDefinitions(record: OfferedRun['view']['record']): OwnBlocker[] {
  if (awaitsIndexes(record)) return [indexesAwaited];
  if (hasWarning(record, buildsWarning)) return [buildsAwaited];
  if (hasWarning(record, definitionsWarning)) return [definitionsDiffer];
  if (hasWarning(record, cannotCarryWarning)) return [carryAwaited];
  return record.inventoryLook === 'pending' ? [lookAwaited] : [];
}

function notRunning(run: Pick<OfferedRun, 'failure' | 'state'> | null): OwnBlocker {
  if (run?.failure === null && run.state === 'REVERSING') return blockedBy('notStarted', 'the clusters change roles');
  return blockedBy('notRunning', run?.state === 'PAUSED' ? 'it is paused: resume it' : 'it does not run');
}

function textOf(blockers: readonly CommitBlocker[]): string {
  return blockers.map(blockerText).join('; ');
}

/** What a task's verifier waits for; stats of an older release do not contain it. */
function verifierBlocker(stats: OfferedVerification | null): OwnBlocker | null {
  if (stats?.blocker === null) return null;
  return stats?.blocker ?? blockedBy('verifying', 'the verifier has not compared everything');
}

/** The stats of a task that decide whether it is ready. */
export type JudgedStats = Pick<TaskStats, 'copyDone' | 'copying' | 'followsStream' | 'lag_seconds'>;

/**
 * Judges whether the own tasks are ready to commit: copied, following their streams, near the source. Ready tasks stay
 * so until the lag exceeds the higher limit.
 */
export class CommitReadiness {
  #offered = false;

  /**
   * @param tasks how many tasks have to be ready
   * @returns what is missing; empty when they are ready
   */
  judge(stats: readonly JudgedStats[], tasks: number): readonly OwnBlocker[] {
    const missing = missingOf(stats, tasks, this.#offered ? offeredLagMax_seconds : steadyLagMax_seconds);
    this.#offered = missing.length === 0;
    return missing;
  }

  /** Withdraws the offer. */
  withdraw(): void {
    this.#offered = false;
  }
}

function missingOf(stats: readonly JudgedStats[], tasks: number, lagMax_seconds: number): OwnBlocker[] {
  const missing: OwnBlocker[] = [];
  if (stats.length !== tasks) missing.push(blockedBy('notStarted', 'its work has not begun yet'));
  if (stats.some(({ copyDone }) => !copyDone)) missing.push(blockedBy('copying', copyingText(stats)));
  if (stats.some(({ followsStream }) => !followsStream))
    missing.push(blockedBy('streamSilent', 'the change stream has not answered yet'));
  const lag_seconds = Math.max(0, ...stats.map((one) => one.lag_seconds));
  if (lag_seconds > lagMax_seconds) {
    const description = `changes are ${String(lag_seconds)} s behind (limit ${String(lagMax_seconds)} s)`;
    missing.push(blockedBy('lag', description, { value: lag_seconds, limit: lagMax_seconds }));
  }
  return missing;
}

/** Also names the collections, for example those that somebody replaces again and again. */
function copyingText(stats: readonly JudgedStats[]): string {
  const names = new Set(stats.flatMap(({ copying = [] }) => copying));
  return `collections are still being copied${names.size === 0 ? '' : `: ${nameSome([...names].sort())}`}`;
}

/** A commit is taken within this time or not at all: coordinators wait 30 s for the answer, and clients 45 s. */
const limit_ms = 25_000;

interface CommittedRun extends OfferedRun, Pick<MigrationRun, 'requestCommit'> {
  readonly deps: OfferedRun['deps'] & Pick<MigrationRun['deps'], 'source' | 'destination' | 'home'>;
}

/**
 * The time for one command to commit, from its arrival. An operator who reads that it was late may let users write
 * again: a commit that is taken later would find them at work.
 */
export class CommitDeadline {
  readonly #at_ms: number;

  /** @param awaited_ms how long the sender still waits; without it, as long as anybody does */
  constructor(
    private readonly clock: Clock,
    awaited_ms = limit_ms,
  ) {
    this.#at_ms = clock.monotonic_ms() + Math.min(limit_ms, awaited_ms);
  }

  /**
   * Takes the commit: checks that it is offered, and records it.
   * @throws ConvoyError `commandTimedOut` when the time is over, `cannotCommit`, `unsupportedServerVersion`
   */
  async take(run: CommittedRun, offer: Pick<CommitOffer, 'untilItStands'>, signal: AbortSignal): Promise<void> {
    const left_ms = this.#at_ms - this.clock.monotonic_ms();
    if (left_ms <= 0) throw notTaken();
    const recording = { isBegun: false };
    const take = async (each: AbortSignal) => {
      await offer.untilItStands(run, each);
      if (!(await run.isCommitRequested(each))) await refuseUpgradedSource(this.clock, run.deps, each);
      // The offer may have ended meanwhile.
      await offer.untilItStands(run, each);
      recording.isBegun = true;
      await run.requestCommit(each);
    };
    try {
      await within(left_ms, this.clock, take, signal);
    } catch (error) {
      const isLate = error instanceof NoAnswerError;
      if (recording.isBegun && (isLate || signal.aborted)) throw unconfirmed(error);
      throw isLate ? notTaken(error) : error;
    }
  }
}

function notTaken(cause?: unknown): ConvoyError {
  return new ConvoyError(
    'commandTimedOut',
    'The instance could not check in time whether it may commit, so it does not, and will not later. ' +
      'Read progress for the reason, and send commit again.',
    { cause },
  );
}

/** The write is in flight: nobody knows whether the destination has it, or will. */
function unconfirmed(cause: unknown): ConvoyError {
  return new ConvoyError(
    'commandTimedOut',
    'The destination has not confirmed that it recorded the commit, which may still begin. Keep the writers of the ' +
      'source stopped, and read progress: while the state is RUNNING, send commit again.',
    { cause },
  );
}

/** Time for the clusters to answer; a commit does not wait longer. */
const answer_ms = 5_000;

type CommittedClusters = Record<'source' | 'destination' | 'home', ClusterClient>;

/**
 * Refuses a commit for which the clusters' feature compatibility versions do not fit now.
 * @throws ConvoyError `unsupportedServerVersion`
 */
export async function refuseUpgradedSource(
  clock: Clock,
  clusters: CommittedClusters,
  signal: AbortSignal,
): Promise<void> {
  const refusal = await versionRefusal(clock, clusters, signal).catch(() => {
    signal.throwIfAborted();
    return null;
  });
  if (refusal !== null)
    throw new ConvoyError('unsupportedServerVersion', `The migration cannot be committed now: ${refusal}.`);
}

/**
 * Why a commit would be refused for the feature compatibility versions, and what to do; null if they fit. The
 * destination's was lowered under this process, which sends commands of the version before; or the source was upgraded
 * beyond the destination: users may use features that the destination lacks. A reverse may go back to any release.
 * @throws what asking the clusters throws; an error when they do not answer in time
 */
export async function versionRefusal(
  clock: Clock,
  { source, destination, home }: CommittedClusters,
  signal: AbortSignal,
): Promise<string | null> {
  const ask = (each: AbortSignal) =>
    Promise.all([source, destination].map(({ router }) => readFeatureVersion(router, { signal: each })));
  const [from, to] = await within(answer_ms, clock, ask, signal);
  if (to && isOlder(to.version, destination.version))
    return (
      `the featureCompatibilityVersion of ${destination.name} was lowered to ${releaseText(to.version)} ` +
      'during the migration: raise it again'
    );
  if (destination !== home || !from || !to || !isOlder(to.version, from.version)) return null;
  const [above, below] = [releaseText(from.version), releaseText(to.version)];
  return `the source's featureCompatibilityVersion ${above} is now above the destination's ${below}: raise it there`;
}
