import type { Logger } from 'pino';
import type { InstanceIdentity, InstanceReport } from '@convoy/api/fleet/fleet';
import type { FleetTimings } from '../fleet/timings.js';
import type { RedisConnection } from '../redis/connections.js';
import type { FleetKeys } from '../redis/keys.js';
import { callRedis, redisFailureReason } from '../redis/redis-failure.js';
import type { Clock } from '../time/clock.js';
import { PeriodicTask } from '../time/periodic-task.js';
import { encodeReport } from './report-message.js';

/**
 * Renews the identity lease, or takes it anew when Redis has forgotten it, and stores and publishes the report. Does
 * nothing and returns 0 when another process holds the identity. KEYS: identity, report, members.
 * ARGV: incarnation, lease ms, retention ms, id, channel, message (may be empty).
 */
const BEAT = `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[3], now_ms, ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', '(' .. (now_ms - ARGV[3]))
if ARGV[6] ~= '' then
  redis.call('SET', KEYS[2], ARGV[6], 'PX', ARGV[3])
  redis.call('PUBLISH', ARGV[5], ARGV[6])
end
return 1`;

export interface HeartbeatParts {
  readonly connection: RedisConnection;
  readonly keys: FleetKeys;
  readonly identity: InstanceIdentity;
  readonly timings: FleetTimings;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when another process was found to hold the identity (false), and when it is held again (true). */
  readonly onHeld: (held: boolean) => void;
}

/**
 * Keeps an instance alive in the eyes of the others. Every beat carries the whole report, so that a lost message, a
 * flushed or a restarted Redis is healed by the next one. News wait for the gap between two beats; the last report wins.
 */
export class Heartbeat {
  readonly #parts: HeartbeatParts;
  readonly #task: PeriodicTask;
  #report: InstanceReport | null = null;
  #lastBeat_ms = Number.NEGATIVE_INFINITY;
  #newsTimer: NodeJS.Timeout | undefined;
  #held = true;
  #stopped = false;

  constructor(parts: HeartbeatParts) {
    this.#parts = parts;
    this.#task = new PeriodicTask(parts.timings.keepAlive_ms, () => this.#beat());
  }

  start(): void {
    this.#task.start();
  }

  /** Takes a report to be told soon. */
  publish(report: InstanceReport): void {
    this.#report = report;
    if (this.#newsTimer !== undefined || this.#stopped) return;
    const { clock, timings } = this.#parts;
    const wait_ms = Math.max(0, this.#lastBeat_ms + timings.publishGap_ms - clock.monotonic_ms());
    this.#newsTimer = setTimeout(() => {
      this.#newsTimer = undefined;
      this.#task.runSoon();
    }, wait_ms);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#newsTimer);
    await this.#task.stop();
  }

  async #beat(): Promise<void> {
    const { connection, keys, identity, timings, clock, logger } = this.#parts;
    this.#lastBeat_ms = clock.monotonic_ms();
    const message = this.#report === null ? '' : encodeReport(this.#report, clock.now_ms());
    const call = connection.eval(
      BEAT,
      3,
      keys.identity(identity.id),
      keys.report(identity.id),
      keys.members,
      identity.incarnation,
      timings.identityLease_ms,
      timings.reportRetention_ms,
      identity.id,
      keys.reportsChannel,
      message,
    );
    try {
      this.#setHeld((await callRedis(call, timings.redisCall_ms)) === 1);
    } catch (error) {
      logger.debug({ event: 'heartbeatFailed', reason: redisFailureReason(error) }, 'heartbeat failed, the next one follows');
    }
  }

  #setHeld(held: boolean): void {
    if (held === this.#held) return;
    this.#held = held;
    this.#parts.onHeld(held);
  }
}
