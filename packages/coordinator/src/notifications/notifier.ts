import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { NotifySettings } from '@convoy/api/configuration/notify-settings';
import type { TimeSource } from '@convoy/api/time/time-source';
import type { FleetSnapshot } from '../director/members.js';
import { redisFailureReason } from '../redis/redis-failure.js';
import { PeriodicTask } from '../time/periodic-task.js';
import { type Notification, notificationOf } from './notification.js';
import type { Delivery, Outbox } from './outbox.js';
import { ATTEMPT_LIMIT_MS, type Outcome, type PostNotification, type Receiver } from './post-notification.js';
import { changesOf, type EventChange, isNews, type Observation, observe } from './standing-events.js';

/** How often the fleet and the outbox are looked at. */
const INTERVAL_MS = 1_000;
/** Attempts of one delivery; with the pauses below they last about six minutes, and longer if the receiver hangs. */
export const DELIVERY_ATTEMPTS_MAX = 12;
/** Pauses double from the first to the last, less up to a half by chance, so that coordinators do not act together. */
const PAUSE_MS = { first: 1_000, last: 60_000 };
/** Maximum pause that a receiver may ask for by `Retry-After`. */
const PAUSE_ASKED_MAX_MS = 10 * 60_000;
/** Longer than an attempt: a claim that ends was that of a process that died. */
const CLAIM_MS = ATTEMPT_LIMIT_MS + 10_000;
/** A delivery to a receiver that nobody has configured any more waits this long. */
const UNKNOWN_RECEIVER_MS = 3_600_000;

/**
 * How a delivery went. `retried`: an attempt failed and another follows. `refused`: the receiver does not want it.
 * `abandoned`: the attempts are exhausted, or nobody knows the receiver. `dropped`: too many deliveries waited.
 */
export type DeliveryResult = 'sent' | 'retried' | 'refused' | 'abandoned' | 'dropped';

export interface NotifierDependencies {
  readonly fleet: string;
  readonly settings: Pick<NotifySettings, 'dashboardUrl' | 'lag' | 'oplog'>;
  readonly receivers: readonly Receiver[];
  readonly outbox: Outbox;
  readonly snapshot: () => FleetSnapshot;
  readonly post: PostNotification;
  /** Counts for the metric. */
  readonly count: (event: Notification['event'], result: DeliveryResult) => void;
  readonly clock: TimeSource;
  readonly logger: Logger;
  /** From 0 to 1. */
  readonly random?: () => number;
}

/**
 * Notices the fleet's events and sends them to all receivers, at least once each. Any number of notifiers may share an
 * outbox: the first to notice an event records it, and any of them sends what waits.
 */
export class Notifier {
  readonly #task = new PeriodicTask(INTERVAL_MS, () => this.look());
  /** The attempt in flight by receiver: one each, so that a receiver that hangs delays no other one. */
  readonly #attempts = new Map<string, Promise<void>>();
  readonly #ending = new AbortController();
  /** When this process saw that it is connected, by the monotonic clock; null while it is not. */
  #connectedAt_ms: number | null = null;

  constructor(private readonly dependencies: NotifierDependencies) {}

  start(): void {
    this.#task.start();
  }

  /** Ends attempts in flight; their deliveries wait for another process, or for this one's restart. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#task.stop();
    await this.idle();
  }

  /** Waits until no attempt is in flight. */
  async idle(): Promise<void> {
    await Promise.all(this.#attempts.values());
  }

  /** Records what has changed, and begins the attempts that are due. */
  async look(): Promise<void> {
    try {
      await this.#recordChanges();
      await this.#sendDue();
    } catch (error) {
      this.dependencies.logger.debug(
        { event: 'notificationsDelayed', reason: redisFailureReason(error) },
        'cannot read or record notifications, retrying at the next interval',
      );
    }
  }

  async #recordChanges(): Promise<void> {
    const { outbox, settings } = this.dependencies;
    const snapshot = this.dependencies.snapshot();
    const observation = observe(snapshot, this.#listening_ms(snapshot));
    if (observation === null) return;
    for (const change of changesOf(observation, settings, await outbox.standing())) {
      const dropped = await outbox.record(change, this.#deliveriesOf(change, observation));
      for (const delivery of dropped ?? []) this.#note(delivery, 'dropped', 'too many notifications wait');
    }
  }

  /** How long this process has been connected, as far as it has looked. */
  #listening_ms({ isConnected }: FleetSnapshot): number {
    const now_ms = this.dependencies.clock.monotonic_ms();
    this.#connectedAt_ms = isConnected ? (this.#connectedAt_ms ?? now_ms) : null;
    return now_ms - (this.#connectedAt_ms ?? now_ms);
  }

  #deliveriesOf(change: EventChange, observation: Observation): Delivery[] {
    if (!isNews(change)) return [];
    const { clock, receivers } = this.dependencies;
    const now_ms = clock.now_ms();
    const notification = notificationOf(change, observation, this.dependencies, randomUUID(), now_ms);
    return receivers
      .filter(({ events }) => events.includes(change.event))
      .map(({ name }) => ({ receiver: name, notification, attempts: 0, due_ms: now_ms }));
  }

  async #sendDue(): Promise<void> {
    const { outbox, receivers, clock } = this.dependencies;
    for (const delivery of await outbox.waiting()) {
      if (this.#ending.signal.aborted) return;
      const now_ms = clock.now_ms();
      if (delivery.due_ms > now_ms || this.#attempts.has(delivery.receiver)) continue;
      const receiver = receivers.find(({ name }) => name === delivery.receiver);
      // Another coordinator may have it in its configuration.
      if (receiver === undefined && now_ms < delivery.due_ms + UNKNOWN_RECEIVER_MS) continue;
      if (!(await outbox.claim(delivery, CLAIM_MS))) continue;
      if (receiver === undefined) await this.#finish(delivery, 'abandoned', 'no such receiver');
      else this.#begin(delivery, receiver);
    }
  }

  #begin(delivery: Delivery, receiver: Receiver): void {
    const attempt = this.#attempt(delivery, receiver)
      .catch((error: unknown) => {
        // The claim ends by itself, and the delivery is sent again.
        this.dependencies.logger.debug(
          { event: 'notificationsDelayed', reason: redisFailureReason(error) },
          'cannot store the result of a notification',
        );
      })
      .finally(() => this.#attempts.delete(delivery.receiver));
    this.#attempts.set(delivery.receiver, attempt);
  }

  async #attempt(delivery: Delivery, receiver: Receiver): Promise<void> {
    const { post, clock, outbox } = this.dependencies;
    const { signal } = this.#ending;
    try {
      await this.#settle(delivery, await post(receiver, delivery.notification, clock.now_ms(), signal));
    } catch (error) {
      if (!signal.aborted) throw error;
      await outbox.postpone(delivery, 0);
    }
  }

  async #settle(delivery: Delivery, outcome: Outcome): Promise<void> {
    if (outcome.result !== 'retry') return this.#finish(delivery, outcome.result, outcome.reason);
    const attempts = delivery.attempts + 1;
    if (attempts >= DELIVERY_ATTEMPTS_MAX) return this.#finish(delivery, 'abandoned', outcome.reason);
    const { clock, outbox, random = Math.random } = this.dependencies;
    const usual_ms = Math.min(PAUSE_MS.first * 2 ** attempts, PAUSE_MS.last) * (1 - random() / 2);
    const pause_ms = Math.round(Math.max(usual_ms, Math.min(outcome.after_ms, PAUSE_ASKED_MAX_MS)));
    await outbox.postpone({ ...delivery, attempts, due_ms: clock.now_ms() + pause_ms }, pause_ms);
    this.#note(delivery, 'retried', outcome.reason);
  }

  async #finish(delivery: Delivery, result: 'sent' | 'refused' | 'abandoned', reason: string): Promise<void> {
    await this.dependencies.outbox.finish(delivery);
    this.#note(delivery, result, reason);
  }

  #note({ receiver, notification, attempts }: Delivery, result: DeliveryResult, reason: string): void {
    const { logger, count } = this.dependencies;
    const { id, event: what } = notification;
    count(what, result);
    logged[result](logger, { receiver, what, delivery: id, attempts, reason });
  }
}

const logged: Readonly<Record<DeliveryResult, (logger: Logger, fields: object) => void>> = {
  sent: (logger, fields) => logger.info({ event: 'notificationSent', ...fields }, 'notification sent'),
  retried: (logger, fields) =>
    logger.warn({ event: 'notificationRetried', ...fields }, 'a notification was not accepted, retrying'),
  refused: (logger, fields) =>
    logger.error({ event: 'notificationRefused', ...fields }, 'a receiver refused a notification: check its url'),
  abandoned: (logger, fields) =>
    logger.error({ event: 'notificationAbandoned', ...fields }, 'gave up a notification: check the receiver'),
  dropped: (logger, fields) =>
    logger.error({ event: 'notificationDropped', ...fields }, 'dropped a notification: check the receivers'),
};
