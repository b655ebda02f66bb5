import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { InstanceIdentity, InstanceReport } from '@convoy/api/fleet/fleet';
import type { TimeSource } from '@convoy/api/time/time-source';
import { callRedis, redisFailureReason } from '../redis/redis-failure.js';
import type { RedisConnection, SignedRedis } from '../redis/signed-redis.js';
import { PeriodicTask } from '../time/periodic-task.js';
import type { FleetTimings } from './fleet-link.js';
import { encodeReport, sealMessage, standingOf } from './report-message.js';
import { decodeRoster, NOW_STATEMENTS, type Roster, ROSTER_EXPRESSION } from './roster.js';

/**
 * Renews the identity lease, or takes it again when Redis lost it. Stores and publishes the report when it is new, when
 * Redis has none, or when another process may have stored its own since. Returns 0 without any effect when another
 * process holds the identity, otherwise 1 or the roster. A process that has not reported yet is no sign of life of its
 * predecessor, whose report would count as fresh.
 * KEYS: identity, report, members, news, standings.
 * ARGV: incarnation, lease ms, retention ms, id, channel, message (may be empty), 1 for news, 1 for another standing, 1
 * for the roster with standings or 2 for the one with all news.
 */
const BEAT = `
local identity, report, members, news, standings = unpack(KEYS)
local incarnation, lease_ms, retention_ms, id, channel, message = unpack(ARGV)
local hasNews, hasOtherStanding, asked = ARGV[7] == '1', ARGV[8] == '1', ARGV[9]
local holder = redis.call('GET', identity)
if holder and holder ~= incarnation then return 0 end
redis.call('SET', identity, incarnation, 'PX', lease_ms)
${NOW_STATEMENTS}
if message ~= '' and redis.call('ZADD', members, now_ms, id) == 1 then
  redis.call('ZREMRANGEBYSCORE', members, '-inf', '(' .. (now_ms - retention_ms))
  for _, known in ipairs(redis.call('ZRANGE', news, 0, -1)) do
    if not redis.call('ZSCORE', members, known) then
      redis.call('ZREM', news, known)
      redis.call('ZREM', standings, known)
    end
  end
end
local isLost = not holder or redis.call('PEXPIRE', report, retention_ms) == 0
if message ~= '' and (hasNews or isLost) then
  redis.call('SET', report, message, 'PX', retention_ms)
  redis.call('ZADD', news, now_ms, id)
  if hasOtherStanding or isLost then redis.call('ZADD', standings, now_ms, id) end
  redis.call('PUBLISH', channel, message)
end
if asked == '0' then return 1 end
if asked == '1' then news = standings end
return ${ROSTER_EXPRESSION}`;

/** Interval of repeating an unchanged report: Redis may have lost it in a failover and hold an older one. */
const RETELL_MS = 30_000;
/** The same for peers, which read it one by one: far below the age up to which a signed report counts. */
const RETELL_STANDING_MS = 120_000;

export interface HeartbeatDependencies extends Pick<SignedRedis, 'keys' | 'signature'> {
  readonly connection: Pick<RedisConnection, 'eval'>;
  readonly identity: InstanceIdentity;
  readonly timings: FleetTimings;
  readonly clock: TimeSource;
  readonly logger: Logger;
  /** Called with false when another process holds the identity, and with true when this process regains it. */
  readonly onHeld: (held: boolean) => void;
  /** Whether it needs every report of its peers: a leader keeps the history. Others read changed standings only. */
  readonly hearsAll: () => boolean;
  /** Called with the roster about once per keep-alive time. */
  readonly onRoster: (roster: Roster, askedAt_ms: number) => void;
}

/**
 * Keeps an instance alive for the others. Every heartbeat carries the whole report, so the next one restores a flushed
 * or restarted Redis. It publishes news, limited by the interval between two heartbeats, and occasionally an unchanged
 * report. The last report wins.
 */
export class Heartbeat {
  readonly #task: PeriodicTask;
  #report: InstanceReport | null = null;
  #sequence = 0;
  #hasNews = false;
  #standing = '';
  #hasOtherStanding = false;
  #lastBeat_ms = Number.NEGATIVE_INFINITY;
  #lastRoster_ms = Number.NEGATIVE_INFINITY;
  #reportedAt_ms = Number.NEGATIVE_INFINITY;
  #standingAt_ms = Number.NEGATIVE_INFINITY;
  #newsTimer: NodeJS.Timeout | undefined;
  #held = true;
  #stopped = false;

  constructor(private readonly dependencies: HeartbeatDependencies) {
    this.#task = new PeriodicTask(dependencies.timings.keepAlive_ms, () => this.#beat());
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
    const standing = standingOf(report);
    this.#hasOtherStanding ||= standing !== this.#standing;
    this.#standing = standing;
    if (this.#newsTimer !== undefined || this.#stopped) return;
    const { clock, timings } = this.dependencies;
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
    const { timings, clock, logger, onRoster } = this.dependencies;
    const askedAt_ms = clock.monotonic_ms();
    this.#lastBeat_ms = askedAt_ms;
    const hadOtherStanding = this.#hasOtherStanding || askedAt_ms - this.#standingAt_ms >= RETELL_STANDING_MS;
    const hadNews = hadOtherStanding || this.#hasNews || askedAt_ms - this.#reportedAt_ms >= RETELL_MS;
    const asksRoster = askedAt_ms - this.#lastRoster_ms >= timings.keepAlive_ms;
    this.#hasNews = false;
    this.#hasOtherStanding = false;
    try {
      const reply = await callRedis(this.#send(hadNews, hadOtherStanding, asksRoster), timings.redisCall_ms);
      if (hadNews) this.#reportedAt_ms = askedAt_ms;
      if (hadOtherStanding) this.#standingAt_ms = askedAt_ms;
      this.#setHeld(reply !== 0);
      const roster = asksRoster ? decodeRoster(reply) : null;
      if (roster === null) return;
      this.#lastRoster_ms = askedAt_ms;
      onRoster(roster, askedAt_ms);
    } catch (error) {
      this.#hasNews ||= hadNews;
      this.#hasOtherStanding ||= hadOtherStanding;
      logger.debug(
        { event: 'heartbeatFailed', reason: redisFailureReason(error) },
        'heartbeat failed, retrying at the next interval',
      );
    }
  }

  #send(hasNews: boolean, hasOtherStanding: boolean, asksRoster: boolean): Promise<unknown> {
    const { connection, keys, identity, timings, clock, signature, hearsAll } = this.dependencies;
    const message =
      this.#report === null ? '' : sealMessage(signature, encodeReport(this.#report, clock.now_ms(), this.#sequence));
    return connection.eval(
      BEAT,
      5,
      keys.identity(identity.id),
      keys.report(identity.id),
      keys.members,
      keys.news,
      keys.standings,
      identity.incarnation,
      timings.identityLease_ms,
      timings.reportRetention_ms,
      identity.id,
      keys.reportsChannel,
      message,
      hasNews ? 1 : 0,
      hasOtherStanding ? 1 : 0,
      asksRoster ? (hearsAll() ? 2 : 1) : 0,
    );
  }

  #setHeld(held: boolean): void {
    if (held === this.#held) return;
    this.#held = held;
    this.dependencies.onHeld(held);
  }
}
