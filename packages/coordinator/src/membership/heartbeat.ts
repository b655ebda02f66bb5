import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { InstanceIdentity, InstanceReport } from '@convoy/api/fleet/fleet';
import type { FleetTimings } from '../fleet/timings.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import type { FleetKeys } from '../redis/keys.js';
import { callRedis, redisFailureReason } from '../redis/redis-failure.js';
import type { FleetSignature } from '../redis/signature.js';
import type { TimeSource } from '@convoy/api/time/time-source';
import { PeriodicTask } from '../time/periodic-task.js';
import { encodeReport, sealMessage } from './report-message.js';
import { decodeRoster, NOW_STATEMENTS, ROSTER_EXPRESSION, type Roster } from './roster.js';

/**
 * Renews the identity lease, or takes it again when Redis lost it. Stores and publishes the report when it is new, when
 * Redis has none, or when another process may have stored its own since. Returns 0 without any effect when another
 * process holds the identity, otherwise 1 or the roster. A process that has not reported yet is no sign of life of its
 * predecessor, whose report would count as fresh.
 * KEYS: identity, report, members, news.
 * ARGV: incarnation, lease ms, retention ms, id, channel, message (may be empty), 1 for news, 1 for the roster.
 */
const BEAT = `
local members, news = KEYS[3], KEYS[4]
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
${NOW_STATEMENTS}
if ARGV[6] ~= '' and redis.call('ZADD', members, now_ms, ARGV[4]) == 1 then
  redis.call('ZREMRANGEBYSCORE', members, '-inf', '(' .. (now_ms - ARGV[3]))
  for _, id in ipairs(redis.call('ZRANGE', news, 0, -1)) do
    if not redis.call('ZSCORE', members, id) then redis.call('ZREM', news, id) end
  end
end
if ARGV[6] ~= '' and (ARGV[7] == '1' or not holder or redis.call('PEXPIRE', KEYS[2], ARGV[3]) == 0) then
  redis.call('SET', KEYS[2], ARGV[6], 'PX', ARGV[3])
  redis.call('ZADD', news, now_ms, ARGV[4])
  redis.call('PUBLISH', ARGV[5], ARGV[6])
end
if ARGV[8] == '1' then return ${ROSTER_EXPRESSION} end
return 1`;

/** Interval of repeating an unchanged report: Redis may have lost it in a failover and hold an older one. */
const RETELL_MS = 30_000;

export interface HeartbeatDependencies {
  readonly connection: RedisConnection;
  readonly keys: FleetKeys;
  readonly signature: FleetSignature;
  readonly identity: InstanceIdentity;
  readonly timings: FleetTimings;
  readonly clock: TimeSource;
  readonly logger: Logger;
  /** Called with false when another process holds the identity, and with true when this process regains it. */
  readonly onHeld: (held: boolean) => void;
  /** Called with the roster about once per keep-alive time, and on request. */
  readonly onRoster: (roster: Roster, askedAt_ms: number) => void;
}

/**
 * Keeps an instance alive for the others. Every heartbeat carries the whole report, so the next one restores a flushed
 * or restarted Redis. It publishes news, limited by the interval between two heartbeats, and occasionally an unchanged
 * report. The last report wins.
 */
export class Heartbeat {
  readonly #parts: HeartbeatDependencies;
  readonly #task: PeriodicTask;
  #report: InstanceReport | null = null;
  #sequence = 0;
  #hasNews = false;
  #lastBeat_ms = Number.NEGATIVE_INFINITY;
  #lastRoster_ms = Number.NEGATIVE_INFINITY;
  #reportedAt_ms = Number.NEGATIVE_INFINITY;
  #newsTimer: NodeJS.Timeout | undefined;
  #held = true;
  #stopped = false;

  constructor(parts: HeartbeatDependencies) {
    this.#parts = parts;
    this.#task = new PeriodicTask(parts.timings.keepAlive_ms, () => this.#beat());
  }

  start(): void {
    this.#task.start();
  }

  /** Schedules a report, if it contains news. */
  publish(report: InstanceReport): void {
    if (isDeepStrictEqual(report, this.#report)) return;
    this.#report = report;
    this.#sequence += 1;
    this.#hasNews = true;
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
    const { timings, clock, logger, onRoster } = this.#parts;
    const askedAt_ms = clock.monotonic_ms();
    this.#lastBeat_ms = askedAt_ms;
    const hadNews = this.#hasNews || askedAt_ms - this.#reportedAt_ms >= RETELL_MS;
    const asksRoster = askedAt_ms - this.#lastRoster_ms >= timings.keepAlive_ms;
    this.#hasNews = false;
    try {
      const reply = await callRedis(this.#send(hadNews, asksRoster), timings.redisCall_ms);
      if (hadNews) this.#reportedAt_ms = askedAt_ms;
      this.#setHeld(reply !== 0);
      const roster = asksRoster ? decodeRoster(reply) : null;
      if (roster === null) return;
      this.#lastRoster_ms = askedAt_ms;
      onRoster(roster, askedAt_ms);
    } catch (error) {
      this.#hasNews ||= hadNews;
      logger.debug(
        { event: 'heartbeatFailed', reason: redisFailureReason(error) },
        'heartbeat failed, retrying at the next interval',
      );
    }
  }

  #send(hasNews: boolean, asksRoster: boolean): Promise<unknown> {
    const { connection, keys, identity, timings, clock, signature } = this.#parts;
    const message =
      this.#report === null ? '' : sealMessage(signature, encodeReport(this.#report, clock.now_ms(), this.#sequence));
    return connection.eval(
      BEAT,
      4,
      keys.identity(identity.id),
      keys.report(identity.id),
      keys.members,
      keys.news,
      identity.incarnation,
      timings.identityLease_ms,
      timings.reportRetention_ms,
      identity.id,
      keys.reportsChannel,
      message,
      hasNews ? 1 : 0,
      asksRoster ? 1 : 0,
    );
  }

  #setHeld(held: boolean): void {
    if (held === this.#held) return;
    this.#held = held;
    this.#parts.onHeld(held);
  }
}
