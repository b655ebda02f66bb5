import type { RedisConnection } from '../redis/redis-connection.js';

/**
 * Publishes on one channel at most once per interval: always the last message, skipping earlier ones. An undeliverable
 * message is lost: receivers get the next one, or read the metadata database. While Redis does not respond, only one
 * message waits.
 */
export class ThrottledPublisher {
  #timer: NodeJS.Timeout | undefined;
  #isBusy = false;
  #next: string | null = null;

  constructor(
    private readonly connection: RedisConnection,
    private readonly channel: string,
    private readonly gap_ms: number,
  ) {}

  send(message: string): void {
    this.#next = message;
    if (!this.#isBusy) this.#sendNext();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#next = null;
    this.#isBusy = true;
  }

  #sendNext(): void {
    const message = this.#next;
    this.#next = null;
    this.#isBusy = message !== null;
    if (message === null) return;
    const gap = new Promise<void>((resolve) => {
      this.#timer = setTimeout(resolve, this.gap_ms);
    });
    const published = this.connection.publish(this.channel, message).catch(() => undefined);
    void Promise.all([published, gap]).then(() => this.#sendNext());
  }
}
