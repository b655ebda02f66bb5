import type { Document } from 'mongodb';
import { canonicalText } from '../../catalog/canonical-text.js';
import { namespaceOf } from '../../catalog/namespace.js';
import type { CollectionPlan } from '../../catalog/plan/destination-plan.js';
import { timeOf } from '../../cluster/cluster-time.js';
import type { MigrationDependencies } from '../migration/migration-dependencies.js';
import { allTasks } from '../migration/migration-watch.js';

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
        { event: 'indexBuildWaits', namespace: namespaceOf(plan.entry), index: String(index.name) },
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
