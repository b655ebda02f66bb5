import { Secret } from '@convoy/api/configuration/secret';
import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import { parseCoordinatorConfig } from '@convoy/coordinator/config/coordinator-config';
import { parseRedisSettings } from '@convoy/coordinator/config/redis-config';
import { RedisFleet } from '@convoy/coordinator/fleet/redis-fleet';
import { runCoordinator } from '@convoy/coordinator/process/coordinator-process';
import { parseInstanceConfig } from '@convoy/instance/config/instance-config';
import { createLogger } from '@convoy/instance/logging/logger';
import { runInstance } from '@convoy/instance/process/instance-process';
import { type Flags, sourcesOf } from './settings.js';

/** A process that serves requests. */
export interface Service {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts an instance with the settings that flags, environment and file give. */
export function startInstance(flags: Flags): Promise<Service> {
  const config = parseInstanceConfig(sourcesOf(flags));
  const logger = createLogger(config);
  if (config.redis === undefined) return runInstance(config, { fleet: new LoneFleet(), logger });
  const redis = parseRedisSettings(config.redis instanceof Secret ? config.redis.reveal() : config.redis);
  return runInstance(config, { fleet: new RedisFleet({ redis, fleet: config.fleet, logger }), logger });
}

/** Starts a coordinator likewise. */
export function startCoordinator(flags: Flags): Promise<Service> {
  const config = parseCoordinatorConfig(sourcesOf(flags));
  return runCoordinator(config, { logger: createLogger(config) });
}
