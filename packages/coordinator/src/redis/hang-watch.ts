import { Redis } from 'ioredis';
import { PeriodicTask } from '../time/periodic-task.js';
import type { RedisConnection } from './redis-connection.js';
import { callRedis, redisFailureReason } from './redis-failure.js';

/** Between two looks at connections that may rightly be silent passes this many times the time that a reply may take. */
const PAUSE_PER_LIMIT = 2;
/** A connection of which replies are expected all the time is looked at this often in that time. */
const LOOKS_PER_LIMIT = 3;

/**
 * Makes connections anew that do not answer: their way was cut without a word, or their server is frozen. By itself the
 * system would find out after minutes. A busy connection on which nothing comes any more makes all be looked at.
 */
export class HangWatch {
  readonly #limit_ms: number;
  readonly #looks = new Set<PeriodicTask>();

  /** @param limit_ms how long a reply may take */
  constructor(limit_ms: number) {
    this.#limit_ms = limit_ms;
  }

  /**
   * Watches a connection until it ends.
   * @param connection not one for blocking commands, whose replies may take their time
   * @param isBusy whether commands are sent over it about once a second: then it costs nothing to be watched closely
   */
  add(connection: RedisConnection, isBusy: boolean): void {
    const ask = new PeriodicTask(PAUSE_PER_LIMIT * this.#limit_ms, () => this.#ask(connection));
    this.#looks.add(ask);
    const tasks = isBusy ? [ask, this.#listen(connection)] : [ask];
    connection.once('connect', () => tasks.forEach((task) => task.start()));
    connection.once('end', () => {
      this.#looks.delete(ask);
      tasks.forEach((task) => void task.stop());
    });
  }

  /** A look that asks nothing: whether anything has come since the last one. */
  #listen(connection: RedisConnection): PeriodicTask {
    let before: number | undefined;
    return new PeriodicTask(this.#limit_ms / LOOKS_PER_LIMIT, () => {
      const heard = bytesHeard(connection);
      if (heard !== undefined && heard === before) for (const ask of this.#looks) ask.runSoon();
      before = heard;
      return Promise.resolve();
    });
  }

  async #ask(connection: RedisConnection): Promise<void> {
    if (!['connect', 'ready'].includes(connection.status)) return;
    try {
      await callRedis(connection.ping(), this.#limit_ms);
    } catch (error) {
      if (redisFailureReason(error) === 'TIMEOUT') connection.disconnect(true);
    }
  }
}

/** What has come over the present connection so far; undefined while there is none, and for a cluster, which has many. */
function bytesHeard(connection: RedisConnection): number | undefined {
  return connection instanceof Redis && ['connect', 'ready'].includes(connection.status)
    ? connection.stream.bytesRead
    : undefined;
}
