import type { Logger } from 'pino';
import type { Secret } from '@convoy/api/configuration/secret';
import { systemTime, type TimeSource } from '@convoy/api/time/time-source';
import { RedisConnections } from '../redis/connections.js';
import { fleetKeys } from '../redis/keys.js';
import { logRedisExposure } from '../redis/redis-exposure.js';
import type { RedisSettings } from '../redis/redis-settings.js';
import { FleetSignature } from '../redis/signature.js';
import type { SignedRedis } from '../redis/signed-redis.js';
import { type FleetTimings, fleetTimingsDefault } from './timings.js';

export interface RedisFleetOptions {
  readonly redis: RedisSettings;
  /** Name of the fleet; fleets that share a Redis never see each other. */
  readonly fleet: string;
  /** Signs the messages of the fleet; all processes need the same. */
  readonly fleetSecret?: Secret | undefined;
  readonly logger: Logger;
  readonly timings?: Partial<FleetTimings>;
}

/** One process's way to its fleet over Redis. */
export interface FleetRedis extends SignedRedis {
  readonly connections: RedisConnections;
  readonly timings: FleetTimings;
  readonly clock: TimeSource;
  readonly logger: Logger;
}

/** @throws ConvoyError `invalidConfiguration` for an invalid fleet name or an unusable TLS file */
export function fleetRedis({ redis, fleet, fleetSecret, logger, timings: changed }: RedisFleetOptions): FleetRedis {
  const clock = systemTime;
  const timings = { ...fleetTimingsDefault, ...changed };
  const keys = fleetKeys(fleet, redis.keyPrefix);
  const signature = new FleetSignature(fleetSecret, keys.root, clock, logger);
  logRedisExposure(redis, logger);
  const limit_ms = timings.redisCall_ms;
  const connections = new RedisConnections(redis, logger, limit_ms);
  return { connections, connection: connections.bounded(), keys, signature, limit_ms, timings, clock, logger };
}
