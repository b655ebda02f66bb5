import type { Logger } from 'pino';
import type { InstanceReport, SeenReport } from '@convoy/api/fleet/fleet';
import type { Watchers } from '@convoy/api/fleet/watchers';
import type { TimeSource } from '@convoy/api/time/time-source';
import { expectedIdsOf } from '../director/members.js';
import { redisFailureReason } from '../redis/redis-failure.js';
import { Pace } from '../time/pace.js';
import { PeriodicTask } from '../time/periodic-task.js';
import type { LeaderLease, LeaderView, LeaseHolder } from './leader-lease.js';

/** Renewals per lease time, so that two renewals may fail. */
export const RENEWALS_PER_LEASE = 3;

export interface ElectionDependencies {
  readonly lease: Pick<LeaderLease, 'campaign' | 'resign' | 'holder'>;
  /** The lease of a fast process; a process that renews more slowly takes a longer one. */
  readonly lease_ms: number;
  readonly candidate: LeaseHolder;
  readonly view: LeaderView;
  readonly watchers: Watchers;
  readonly clock: TimeSource;
  readonly logger: Logger;
  /** The reports that decide, before every campaign, whether the candidate may lead. */
  readonly reports: () => ReadonlyMap<string, SeenReport>;
}

/**
 * Competes for the leadership and renews it while this process leads. The intervals between its renewals show how slow
 * the process is; its lease grows accordingly, so that a slow leader stays leader.
 */
export class LeaderElection {
  readonly #task: PeriodicTask;
  readonly #pace: Pace;
  /**
   * Until when this process certainly holds the lease, by the monotonic clock. Counted from before the renewal was
   * sent.
   */
  #heldUntil_ms = Number.NEGATIVE_INFINITY;
  #leading = false;
  /** Fires when the lease expires without a renewal, to notify watchers. */
  #lapse: NodeJS.Timeout | undefined;
  #suspended = false;

  constructor(private readonly dependencies: ElectionDependencies) {
    this.#pace = new Pace(dependencies.lease_ms);
    this.#task = new PeriodicTask(dependencies.lease_ms / RENEWALS_PER_LEASE, () => this.#campaign());
  }

  /** True while this process certainly holds the lease. */
  isLeader(): boolean {
    return this.dependencies.clock.monotonic_ms() < this.#heldUntil_ms;
  }

  start(): void {
    this.#task.start();
  }

  /** Competes immediately, after a notification of a vacant lease. */
  campaignSoon(): void {
    this.#task.runSoon();
  }

  /** Stops or restarts competing without releasing anything, after the identity was lost or regained. */
  suspend(suspended: boolean): void {
    this.#suspended = suspended;
    if (suspended) this.#setHeld(Number.NEGATIVE_INFINITY);
    else this.#task.runSoon();
  }

  /** Stops competing and releases the leadership. */
  async resign(): Promise<void> {
    await this.#task.stop();
    this.#setHeld(Number.NEGATIVE_INFINITY);
    await this.dependencies.lease.resign(this.dependencies.candidate);
  }

  async #campaign(): Promise<void> {
    if (this.#suspended) return;
    const { lease, candidate, view, clock, logger, reports } = this.dependencies;
    const sentAt_ms = clock.monotonic_ms();
    try {
      if (!mayLead(candidate.id, reports())) {
        await this.#standAside();
        return;
      }
      const lease_ms = this.#pace.limit_ms(sentAt_ms);
      const holder = await lease.campaign(candidate, lease_ms);
      this.#pace.beat(sentAt_ms);
      view.see(holder);
      this.#setHeld(holder?.incarnation === candidate.incarnation ? sentAt_ms + lease_ms : Number.NEGATIVE_INFINITY);
    } catch (error) {
      this.#pace.pause();
      logger.debug(
        { event: 'campaignFailed', reason: redisFailureReason(error) },
        'cannot read or renew the leader lease',
      );
    }
  }

  /** Leaves the leadership to others, and reads who holds it. */
  async #standAside(): Promise<void> {
    const { lease, candidate, view } = this.dependencies;
    if (this.isLeader()) {
      this.#setHeld(Number.NEGATIVE_INFINITY);
      await lease.resign(candidate);
    }
    view.see(await lease.holder());
  }

  #setHeld(heldUntil_ms: number): void {
    this.#heldUntil_ms = this.#suspended ? Number.NEGATIVE_INFINITY : heldUntil_ms;
    const leading = this.isLeader();
    clearTimeout(this.#lapse);
    if (leading)
      this.#lapse = setTimeout(
        () => this.#setHeld(heldUntil_ms),
        heldUntil_ms - this.dependencies.clock.monotonic_ms() + 1,
      );
    if (leading === this.#leading) return;
    this.#leading = leading;
    const { logger, candidate, watchers } = this.dependencies;
    logger.info(
      { event: leading ? 'leaderElected' : 'leaderLost', id: candidate.id },
      leading ? 'became the leader' : 'stopped leading',
    );
    watchers.notify('leader');
  }
}

/**
 * Whether an instance may lead its fleet. Not eligible: an instance that the migration does not need, one that failed
 * while others did not, and one that has not reached its clusters while others have. They would hold the lease without
 * leading.
 */
export function mayLead(id: string, reports: ReadonlyMap<string, SeenReport>): boolean {
  const expectedIds = expectedIdsOf(reports);
  if (!isAsked(id, expectedIds)) return false;
  const own = reports.get(id);
  if (own === undefined) return true;
  return [...reports].every(
    ([other, { fresh, report }]) =>
      other === id || !fresh || abilityOf(report) <= abilityOf(own.report) || !isAsked(other, expectedIds),
  );
}

/** An instance that the migration does not need does not lead. */
function isAsked(id: string, expectedIds: readonly string[]): boolean {
  return expectedIds.length === 0 || expectedIds.includes(id);
}

/** Eligibility: the higher, the more an instance can do as leader. */
function abilityOf({ failure, state }: InstanceReport): number {
  if (failure !== null) return 0;
  return state === 'INITIALIZING' ? 1 : 2;
}
