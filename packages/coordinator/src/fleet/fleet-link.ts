import type { Logger } from 'pino';
import type { Secret } from '@convoy/api/configuration/secret';
import { systemTime, type TimeSource } from '@convoy/api/time/time-source';
import { RedisConnections } from '../redis/connections.js';
import { fleetKeys } from '../redis/keys.js';
import { logRedisExposure, type RedisSettings } from '../redis/redis-settings.js';
import { FleetSignature } from '../redis/signature.js';
import type { SignedRedis } from '../redis/signed-redis.js';

export interface FleetLinkOptions {
  readonly redis: RedisSettings;
  /** Name of the fleet; fleets that share a Redis never see each other. */
  readonly fleet: string;
  /** Signs the messages of the fleet; all processes need the same. */
  readonly fleetSecret?: Secret | undefined;
  readonly logger: Logger;
  readonly timings?: Partial<FleetTimings>;
}

/** One process's way to its fleet over Redis. */
export interface FleetLink extends SignedRedis {
  readonly connections: RedisConnections;
  readonly timings: FleetTimings;
  readonly clock: TimeSource;
  readonly logger: Logger;
}

/** @throws ConvoyError `invalidConfiguration` for an invalid fleet name or an unusable TLS file */
export function linkFleet({ redis, fleet, fleetSecret, logger, timings: changed }: FleetLinkOptions): FleetLink {
  const clock = systemTime;
  const timings = { ...fleetTimingsDefault, ...changed };
  const keys = fleetKeys(fleet, redis.keyPrefix);
  const signature = new FleetSignature(fleetSecret, keys.root, clock, logger);
  logRedisExposure(redis, logger);
  const limit_ms = timings.redisCall_ms;
  const connections = new RedisConnections(redis, logger, limit_ms);
  return { connections, connection: connections.bounded(), keys, signature, limit_ms, timings, clock, logger };
}

/** Timings of liveness, in milliseconds; on slow processes `Pace` extends the leases. */
export interface FleetTimings {
  /** Silence after which an instance's id is free and its report is stale. */
  readonly identityLease_ms: number;
  /** Interval of heartbeats without news. */
  readonly keepAlive_ms: number;
  /** Interval of heartbeats with news. */
  readonly publishGap_ms: number;
  /** Silence after which another instance takes over the leadership; the leader renews three times in this time. */
  readonly leaderLease_ms: number;
  /** How long Redis keeps the last report of a silent instance. */
  readonly reportRetention_ms: number;
  /** Time limit of one call to Redis. */
  readonly redisCall_ms: number;
  /** How long a running command may delay the leave. */
  readonly leaveWait_ms: number;
}

/**
 * An instance may lose four keep-alives before it counts as gone. 20 reports a second look fluent. A dead leader is
 * replaced within 5 s + 5 s / 3, and a report outlives a night without its instance.
 */
export const fleetTimingsDefault: FleetTimings = {
  identityLease_ms: 5_000,
  keepAlive_ms: 1_000,
  publishGap_ms: 50,
  leaderLease_ms: 5_000,
  reportRetention_ms: 24 * 3_600_000,
  redisCall_ms: 3_000,
  leaveWait_ms: 5_000,
};
