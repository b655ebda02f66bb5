import { Redis } from 'ioredis';
import { PeriodicTask } from '../time/periodic-task.js';
import { callRedis, redisFailureReason } from './redis-failure.js';
import { isOpen, type RedisConnection } from './signed-redis.js';

/** Interval of checking connections that may be silent, as a multiple of a reply's time limit. */
const PAUSE_PER_LIMIT = 2;
/** Checks per reply time limit for a connection that constantly expects replies. */
const LOOKS_PER_LIMIT = 3;

/**
 * Replaces connections that stopped responding: the network dropped them silently, or their server hangs. The system
 * itself would notice only after minutes. When a busy connection goes silent, it checks all.
 */
export class HangWatch {
  readonly #looks = new Set<PeriodicTask>();

  /** @param limit_ms time limit of a reply */
  constructor(private readonly limit_ms: number) {}

  /**
   * Watches a connection until it closes.
   * @param connection not one for blocking commands, whose replies may take long
   * @param isBusy whether about one command per second uses it: then watching it closely costs nothing
   */
  add(connection: RedisConnection, isBusy: boolean): void {
    const ask = new PeriodicTask(PAUSE_PER_LIMIT * this.limit_ms, () => this.#ask(connection));
    this.#looks.add(ask);
    const tasks = isBusy ? [ask, this.#listen(connection)] : [ask];
    connection.once('connect', () => tasks.forEach((task) => task.start()));
    connection.once('end', () => {
      this.#looks.delete(ask);
      tasks.forEach((task) => void task.stop());
    });
  }

  /** A check that sends nothing: whether anything has arrived since the last one. */
  #listen(connection: RedisConnection): PeriodicTask {
    let before: number | undefined;
    return new PeriodicTask(this.limit_ms / LOOKS_PER_LIMIT, () => {
      const heard = bytesHeard(connection);
      if (heard !== undefined && heard === before) for (const ask of this.#looks) ask.runSoon();
      before = heard;
      return Promise.resolve();
    });
  }

  async #ask(connection: RedisConnection): Promise<void> {
    if (!isOpen(connection)) return;
    try {
      await callRedis(connection.ping(), this.limit_ms);
    } catch (error) {
      if (redisFailureReason(error) === 'TIMEOUT') connection.disconnect(true);
    }
  }
}

/** Bytes received over the current connection; undefined without one, and for a cluster, which has several. */
function bytesHeard(connection: RedisConnection): number | undefined {
  return connection instanceof Redis && isOpen(connection) ? connection.stream.bytesRead : undefined;
}
