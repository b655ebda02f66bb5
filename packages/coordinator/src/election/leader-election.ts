import type { Logger } from 'pino';
import type { Watchers } from '@convoy/api/fleet/watchers';
import { redisFailureReason } from '../redis/redis-failure.js';
import type { Clock } from '../time/clock.js';
import { Pace } from '../time/pace.js';
import { PeriodicTask } from '../time/periodic-task.js';
import type { LeaderLease, LeaseHolder } from './leader-lease.js';
import type { LeaderView } from './leader-view.js';

/** A lease is renewed this often in its time, so that two renewals may fail. */
export const RENEWALS_PER_LEASE = 3;

export interface ElectionDependencies {
  readonly lease: LeaderLease;
  /** Of a process that is not slow; one that renews more slowly takes a longer one. */
  readonly lease_ms: number;
  readonly candidate: LeaseHolder;
  readonly view: LeaderView;
  readonly watchers: Watchers;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the candidate may lead; asked before every campaign. */
  readonly mayLead: () => boolean;
}

/**
 * Lets one process compete for the leadership, and renews it while it leads. How often it comes to that tells how slow it is:
 * its lease is as much longer, so that a leader that is slow stays the leader.
 */
export class LeaderElection {
  readonly #parts: ElectionDependencies;
  readonly #task: PeriodicTask;
  readonly #pace: Pace;
  /** Until when this process certainly holds the lease, by the monotonic clock: counted from before the renewal was sent. */
  #heldUntil_ms = Number.NEGATIVE_INFINITY;
  #leading = false;
  /** Fires when the lease runs out without a renewal, so that those who watch are told. */
  #lapse: NodeJS.Timeout | undefined;
  #suspended = false;

  constructor(parts: ElectionDependencies) {
    this.#parts = parts;
    this.#pace = new Pace(parts.lease_ms);
    this.#task = new PeriodicTask(parts.lease_ms / RENEWALS_PER_LEASE, () => this.#campaign());
  }

  /** True while the lease is certainly this process's. */
  isLeader(): boolean {
    return this.#parts.clock.monotonic_ms() < this.#heldUntil_ms;
  }

  start(): void {
    this.#task.start();
  }

  /** Competes now: the lease was said to be vacant. */
  campaignSoon(): void {
    this.#task.runSoon();
  }

  /** Stops or takes up competing, without giving anything back: the identity was lost or found again. */
  suspend(suspended: boolean): void {
    this.#suspended = suspended;
    if (suspended) this.#setHeld(Number.NEGATIVE_INFINITY);
    else this.#task.runSoon();
  }

  /** Stops competing and gives the leadership back. */
  async resign(): Promise<void> {
    await this.#task.stop();
    this.#setHeld(Number.NEGATIVE_INFINITY);
    await this.#parts.lease.resign(this.#parts.candidate);
  }

  async #campaign(): Promise<void> {
    if (this.#suspended) return;
    const { lease, candidate, view, clock, logger } = this.#parts;
    const sentAt_ms = clock.monotonic_ms();
    try {
      if (!this.#parts.mayLead()) {
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
        'the leader lease could not be asked for',
      );
    }
  }

  /** Leaves the leadership to others, and learns who has it. */
  async #standAside(): Promise<void> {
    const { lease, candidate, view } = this.#parts;
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
      this.#lapse = setTimeout(() => this.#setHeld(heldUntil_ms), heldUntil_ms - this.#parts.clock.monotonic_ms() + 1);
    if (leading === this.#leading) return;
    this.#leading = leading;
    const { logger, candidate, watchers } = this.#parts;
    logger.info(
      { event: leading ? 'leaderElected' : 'leaderLost', id: candidate.id },
      leading ? 'leads the fleet' : 'leads no longer',
    );
    watchers.notify('leader');
  }
}
