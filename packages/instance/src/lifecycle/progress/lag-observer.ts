import type { Clock } from '../../async/clock.js';
import { secondsOf, timeOf } from '../../cluster/cluster-time.js';
import { versionRefusal } from '../commands/upgraded-source.js';
import { ClusterWatch } from '../migration/cluster-watch.js';
import { VersionWatch } from '../migration/version-watch.js';
import { type LagStats, LagTracker } from '../stats/lag.js';
import { sourceShardOf } from '../../store/reversal.js';
import type { MigrationRun } from '../run/migration-run.js';
import { oplogRemaining } from '../stats/oplog-time.js';
import { awaits, waitWarnings } from '../stats/wait-warnings.js';

/** What is observed between the source and the destination; null where a value is unknown. */
export interface Observed extends LagStats {
  /** Milliseconds of a round trip. */
  sourcePing_ms: number | null;
  destinationPing_ms: number | null;
  /** False when this process cannot read the oplogs of the source's shards. */
  seesOplogs: boolean;
  /** Seconds until an oplog drops changes that are not applied yet; null while unknown. */
  oplogRemaining_seconds: number | null;
}

/** Observes the lag of one process's part in a migration. */
export class LagObserver {
  readonly #watch: ClusterWatch;
  readonly #versions: VersionWatch;
  readonly #tracker = new LagTracker();
  #seen: Observed;

  constructor(
    private readonly run: MigrationRun,
    private readonly clock: Clock,
  ) {
    const { source, destination, ownIds } = run.deps;
    const shardIds = ownIds.map((id) => sourceShardOf(run.view.record, id));
    const isAwaited = (cluster: string): boolean => awaits(run.deps.runtime.waits.present, cluster);
    this.#watch = new ClusterWatch(source, destination, shardIds, clock, isAwaited);
    this.#versions = new VersionWatch((signal) => versionRefusal(clock, run.deps, signal), clock);
    this.#seen = this.#look();
  }

  /** The last observation. */
  get seen(): Observed {
    return this.#seen;
  }

  /** Why a commit would be refused for the clusters' versions, as last seen; null if it would not. */
  get versionRefusal(): string | null {
    return this.#versions.refusal;
  }

  /** Measures until the signal, or until the migration is over. */
  async measure(signal: AbortSignal): Promise<void> {
    const isOver = () => this.run.state === 'COMMITTED' || this.run.failure !== null;
    await Promise.all([this.#watch.run(isOver, signal), this.#versions.run(isOver, signal)]);
  }

  /** Observes the present stats; call it several times a second. */
  observe(): void {
    this.#seen = this.#look();
  }

  #look(): Observed {
    const { run } = this;
    const { sourcePing_ms, destinationPing_ms, sourceTime_seconds, seesOplogs } = this.#watch;
    const oplogRemaining_seconds = this.#oplogRemaining();
    const { ddlWatermark } = run.watch.journalled;
    const { ddlChanges, commit } = run.view.record;
    // Beyond the commit time the leader publishes no DDL watermark, so its apparent lag is none.
    const isPassed = commit !== null && ddlWatermark !== null && ddlWatermark > timeOf(commit.time);
    const ddlWatermark_seconds = ddlWatermark === null ? null : isPassed ? sourceTime_seconds : secondsOf(ddlWatermark);
    const stats = run.liveStats;
    const waits = run.deps.runtime.waits.present;
    const lag = this.#tracker.take({
      at_ms: this.clock.monotonic_ms(),
      stats,
      sourceTime_seconds,
      ddlWatermark_seconds,
      ddlChanges,
      oplogRemaining_seconds,
      isAwaitingSource: awaits(waits, run.deps.source.name),
    });
    const warnings = [...waitWarnings(waits, this.#watch.membersAway), ...lag.warnings];
    return { ...lag, warnings, sourcePing_ms, destinationPing_ms, seesOplogs, oplogRemaining_seconds };
  }

  /** The shortest of the own shards. A checkpoint does not move in a pause, while the oplog keeps rolling. */
  #oplogRemaining(): number | null {
    const { view, deps } = this.run;
    const remaining = deps.ownIds.flatMap((id) => {
      const window = this.#watch.oplogs.get(sourceShardOf(view.record, id));
      if (window === undefined) return [];
      const checkpoint = view.tasks.get(id)?.checkpoint ?? null;
      return oplogRemaining(window, checkpoint === null ? null : secondsOf(timeOf(checkpoint))) ?? [];
    });
    return remaining.length === 0 ? null : Math.min(...remaining);
  }
}
