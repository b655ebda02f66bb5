import { Secret } from '@convoy/api/configuration/secret';
import type { Fleet } from '@convoy/api/fleet/fleet';
import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import { parseInstanceConfig } from '@convoy/instance/config/instance-config';
import type { InstanceConfig } from '@convoy/instance/config/instance-schema';
import { createLogger } from '@convoy/instance/logging/logger';
import { RecentLogs } from '@convoy/instance/logging/recent-logs';
import { runInstance } from '@convoy/instance/process/instance-process';
import type { ServiceProcess } from './service-process.js';
import { type Flags, sourcesOf } from './settings.js';

type Logger = ReturnType<typeof createLogger>;

/** Starts an instance with the settings from flags, environment and file. */
export async function startInstance(flags: Flags): Promise<ServiceProcess> {
  const config = parseInstanceConfig(sourcesOf(flags));
  const recentLogs = new RecentLogs();
  const logger = createLogger({ ...config, recent: recentLogs });
  const instance = await runInstance(config, { fleet: await fleetOf(config, logger), logger, recentLogs });
  return { ...instance, logsElsewhere: config.logPath !== undefined };
}

/** A lone instance does not load the modules of a fleet. */
async function fleetOf({ redis, fleet }: InstanceConfig, logger: Logger): Promise<Fleet> {
  if (redis === undefined) return new LoneFleet();
  const { RedisFleet } = await import('@convoy/coordinator/fleet/redis-fleet');
  const { parseRedisSettings } = await import('@convoy/coordinator/config/redis-config');
  return new RedisFleet({ redis: parseRedisSettings(redis instanceof Secret ? redis.reveal() : redis), fleet, logger });
}
