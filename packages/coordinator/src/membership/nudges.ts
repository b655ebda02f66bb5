import type { RedisConnection } from '../redis/connections.js';

/** Tells the peers of a fleet to look anew, at most once per gap, however often it is asked to. */
export class Nudges {
  readonly #connection: RedisConnection;
  readonly #channel: string;
  readonly #gap_ms: number;
  #timer: NodeJS.Timeout | undefined;
  #again = false;

  constructor(connection: RedisConnection, channel: string, gap_ms: number) {
    this.#connection = connection;
    this.#channel = channel;
    this.#gap_ms = gap_ms;
  }

  /** @param incarnation the sender, who is not told of its own nudges */
  send(incarnation: string): void {
    if (this.#timer !== undefined) {
      this.#again = true;
      return;
    }
    // Best effort by contract: who misses a nudge looks at intervals.
    this.#connection.publish(this.#channel, incarnation).catch(() => undefined);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (!this.#again) return;
      this.#again = false;
      this.send(incarnation);
    }, this.#gap_ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#again = false;
  }
}
