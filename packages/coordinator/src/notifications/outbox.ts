import { z } from 'zod';
import type { NotifiedEvent } from '@convoy/api/configuration/notify-settings';
import type { TimeSource } from '@convoy/api/time/time-source';
import { notificationSchema } from './notification.js';
import type { EventChange } from './standing-events.js';

/** Maximum deliveries of a fleet that wait; further ones are dropped. All events of all receivers, twice over. */
export const DELIVERIES_MAX = 100;

/** A notification on its way to one receiver. */
export const deliverySchema = z.object({
  receiver: z.string(),
  notification: notificationSchema,
  /** Failed attempts. */
  attempts: z.int().nonnegative(),
  /** Milliseconds since 1970 of the next attempt. */
  due_ms: z.number(),
});

export type Delivery = z.output<typeof deliverySchema>;

/**
 * What all senders of a fleet use: the events that stand, and the deliveries that wait. A delivery stays until it is
 * finished, so it outlives the process that created it.
 */
export interface Outbox {
  /** The events that stand. */
  standing(): Promise<ReadonlySet<NotifiedEvent>>;
  /**
   * Records a change with its deliveries, unless it is recorded already: another process may notice it too.
   * @returns the deliveries that found no room; null if the change was recorded already
   */
  record(change: EventChange, deliveries: readonly Delivery[]): Promise<readonly Delivery[] | null>;
  /** The deliveries that wait. */
  waiting(): Promise<readonly Delivery[]>;
  /** Reserves an attempt of a delivery for the caller. False if it is finished, reserved or postponed. */
  claim(delivery: Delivery, claim_ms: number): Promise<boolean>;
  /** Stores attempts and due time; nobody attempts it before the pause is over. */
  postpone(delivery: Delivery, pause_ms: number): Promise<void>;
  /** Removes a delivery. */
  finish(delivery: Delivery): Promise<void>;
}

/** A delivery's key in its fleet. */
export function deliveryKey({ notification, receiver }: Delivery): string {
  return `${notification.id}:${receiver}`;
}

/** The outbox of a lone instance: it is the only sender, and forgets everything with its process. */
export class MemoryOutbox implements Outbox {
  readonly #standing = new Set<NotifiedEvent>();
  readonly #waiting = new Map<string, Delivery>();
  readonly #claimedUntil_ms = new Map<string, number>();

  constructor(private readonly clock: TimeSource) {}

  standing(): Promise<ReadonlySet<NotifiedEvent>> {
    return Promise.resolve(new Set(this.#standing));
  }

  record({ event, status }: EventChange, deliveries: readonly Delivery[]): Promise<readonly Delivery[] | null> {
    if (this.#standing.has(event) === (status === 'raised')) return Promise.resolve(null);
    if (status === 'raised') this.#standing.add(event);
    else this.#standing.delete(event);
    const room = DELIVERIES_MAX - this.#waiting.size;
    for (const delivery of deliveries.slice(0, room)) this.#waiting.set(deliveryKey(delivery), delivery);
    return Promise.resolve(deliveries.slice(room));
  }

  waiting(): Promise<readonly Delivery[]> {
    return Promise.resolve([...this.#waiting.values()]);
  }

  claim(delivery: Delivery, claim_ms: number): Promise<boolean> {
    const key = deliveryKey(delivery);
    const now_ms = this.clock.monotonic_ms();
    const isFree = this.#waiting.has(key) && now_ms >= (this.#claimedUntil_ms.get(key) ?? now_ms);
    if (isFree) this.#claimedUntil_ms.set(key, now_ms + claim_ms);
    return Promise.resolve(isFree);
  }

  postpone(delivery: Delivery, pause_ms: number): Promise<void> {
    const key = deliveryKey(delivery);
    this.#waiting.set(key, delivery);
    this.#claimedUntil_ms.set(key, this.clock.monotonic_ms() + pause_ms);
    return Promise.resolve();
  }

  finish(delivery: Delivery): Promise<void> {
    const key = deliveryKey(delivery);
    this.#waiting.delete(key);
    this.#claimedUntil_ms.delete(key);
    return Promise.resolve();
  }
}
