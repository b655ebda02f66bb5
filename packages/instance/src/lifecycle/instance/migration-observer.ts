import type { Warning } from '@convoy/api/contract/progress';
import type { Clock, Wait } from '../../async/clock.js';
import { nameSome } from '../../catalog/name-some.js';
import { clusterTimeOf, secondsOf, timeOf } from '../../cluster/cluster-time.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { type OplogWindow, reachOf, readOplogWindow } from '../../cluster/oplog-window.js';
import { membersAway } from '../../cluster/topology.js';
import { sourceShardOf } from '../../store/reversal.js';
import { versionRefusal } from './commit-offer.js';
import type { MigrationRun } from './migration-run.js';
import { type LagStats, LagTracker } from './lag.js';

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

/**
 * Interval between measurements: a ping to each cluster, and now and then two small reads of the own shards' oplogs.
 */
const ping_ms = 5_000;
const pingsPerOplogRead = 6;
/** A slower answer counts as none. */
const answerMax_ms = 4_000;
/** Weight of a new round trip in the displayed average. */
const pingWeight = 0.3;

/** Measures round trips to both clusters, and how far the oplogs of this process's shards reach back. */
export class ClusterWatch {
  /** Milliseconds of a round trip; null without an answer. */
  sourcePing_ms: number | null = null;
  destinationPing_ms: number | null = null;
  /** The source's time in its last answer, in seconds since 1970. */
  sourceTime_seconds: number | null = null;
  /** By shard. Shards whose oplog this process may not read, or reads through a router, are absent. */
  readonly oplogs = new Map<string, OplogWindow>();
  /** Members that do not answer, by the cluster's name, while something waits for that cluster. */
  readonly membersAway = new Map<string, readonly string[]>();

  /** @param ownIds the source's shards that this process syncs */
  constructor(
    private readonly source: ClusterClient,
    private readonly destination: ClusterClient,
    private readonly ownIds: readonly string[],
    private readonly clock: Clock,
    private readonly isAwaited: (cluster: string) => boolean = () => false,
  ) {}

  /** False when this process cannot read the oplogs of the source's shards. */
  get seesOplogs(): boolean {
    return this.source.access === 'direct';
  }

  /**
   * Measures until `isOver`, or until the signal aborts. A failed measurement makes the value unknown and fails
   * nothing.
   */
  async run(isOver: () => boolean, signal: AbortSignal): Promise<void> {
    for (let turn = 0; !isOver(); turn += 1) {
      await Promise.all([this.#pingSource(signal), this.#pingDestination(signal)]);
      if (this.seesOplogs && turn % pingsPerOplogRead === 0)
        await Promise.all(this.ownIds.map((id) => this.#readOplog(id, signal)));
      await Promise.all([this.source, this.destination].map((cluster) => this.#lookForMembers(cluster, signal)));
      await this.clock.sleep(ping_ms, signal);
    }
  }

  async #pingSource(signal: AbortSignal): Promise<void> {
    this.sourcePing_ms = await this.#ping(this.source, this.sourcePing_ms, signal, (time_seconds) => {
      this.sourceTime_seconds = Math.max(time_seconds, this.sourceTime_seconds ?? 0);
    });
  }

  async #pingDestination(signal: AbortSignal): Promise<void> {
    this.destinationPing_ms = await this.#ping(this.destination, this.destinationPing_ms, signal, () => undefined);
  }

  /** @returns the average including the new round trip; null without an answer */
  async #ping(
    cluster: ClusterClient,
    before: number | null,
    signal: AbortSignal,
    onTime: (time_seconds: number) => void,
  ): Promise<number | null> {
    const asked_ms = this.clock.monotonic_ms();
    try {
      const reply = await cluster.router.command('admin', { ping: 1 }, { signal: timely(signal) });
      onTime(secondsOf(clusterTimeOf(reply)));
    } catch {
      signal.throwIfAborted();
      return null;
    }
    const took_ms = this.clock.monotonic_ms() - asked_ms;
    return before === null ? took_ms : before + (took_ms - before) * pingWeight;
  }

  async #lookForMembers(cluster: ClusterClient, signal: AbortSignal): Promise<void> {
    if (!this.isAwaited(cluster.name)) this.membersAway.delete(cluster.name);
    else this.membersAway.set(cluster.name, await membersAway(cluster, { signal: timely(signal) }));
  }

  async #readOplog(id: string, signal: AbortSignal): Promise<void> {
    try {
      this.oplogs.set(id, await readOplogWindow(this.source.shard(id), timely(signal)));
    } catch {
      signal.throwIfAborted();
      this.oplogs.delete(id);
    }
  }
}

function timely(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(answerMax_ms)]);
}

/** Interval between looks: one small read of each cluster. */
const look_ms = 5_000;

/** Looks now and then whether the clusters' feature compatibility versions allow a commit. */
export class VersionWatch {
  #refusal: string | null = null;

  /** @param look why a commit would be refused; null if it would not; it rejects when a cluster does not answer */
  constructor(
    private readonly look: (signal: AbortSignal) => Promise<string | null>,
    private readonly clock: Clock,
  ) {}

  /** Why a commit would be refused, as of the last look that the clusters answered; null if it would not. */
  get refusal(): string | null {
    return this.#refusal;
  }

  /** Looks until `isOver`, or until the signal aborts. A look without an answer changes nothing. */
  async run(isOver: () => boolean, signal: AbortSignal): Promise<void> {
    while (!isOver()) {
      this.#refusal = await this.look(signal).catch(() => {
        signal.throwIfAborted();
        return this.#refusal;
      });
      await this.clock.sleep(look_ms, signal);
    }
  }
}

/** Members of each cluster that do not answer, by the cluster's name. */
export type MembersAway = ReadonlyMap<string, readonly string[]>;

/** Whether something is waited for that a cluster has not answered. */
export function awaits(waits: readonly Wait[], cluster: string): boolean {
  return waits.some(({ from }) => from.startsWith(`${cluster} `));
}

/** The warning that names what has no answer: without times, so that it stays the same. */
export function waitWarnings(waits: readonly Wait[], away: MembersAway): Warning[] {
  if (waits.length === 0) return [];
  const froms = [...new Set(waits.map(({ from }) => from))];
  const named = froms.map((from) => {
    const whats = waits.filter((wait) => wait.from === from).map(({ what }) => what);
    return `${from} (${nameSome(whats)})`;
  });
  const silent = [...away.values()].flat();
  const members = silent.length === 0 ? '' : ` Members that do not answer: ${nameSome(silent)}.`;
  return [
    {
      name: 'waitingForAnswer',
      description:
        `Waiting for ${named.join(', ')}.${members} Convoy repeats calls without an answer, and opens streams anew ` +
        'that stand still.',
    },
  ];
}

/**
 * Seconds until an oplog drops the entry at which the stream resumes, if nothing were applied from now on.
 * @param checkpoint_seconds where the stream resumes, in seconds since 1970; null before the first checkpoint
 * @returns null while unknown; never negative
 */
export function oplogRemaining(window: OplogWindow, checkpoint_seconds: number | null): number | null {
  const reach_seconds = reachOf(window);
  if (reach_seconds === Infinity) return null;
  const behind = checkpoint_seconds === null ? 0 : Math.max(0, window.newest_seconds - checkpoint_seconds);
  return Math.max(0, reach_seconds - behind);
}
