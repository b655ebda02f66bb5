import { clusterTimeOf, secondsOf } from '../../cluster/cluster-time.js';
import type { Clock } from '../../async/clock.js';
import { membersAway } from '../../cluster/topology.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { type OplogWindow, readOplogWindow } from '../../cluster/oplog-window.js';

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
