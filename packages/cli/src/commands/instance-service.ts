import type { NotifySettings } from '@convoy/api/configuration/notify-settings';
import { Secret } from '@convoy/api/configuration/secret';
import type { Fleet } from '@convoy/api/fleet/fleet';
import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import type { Notifier } from '@convoy/coordinator/notifications/notifier';
import { parseInstanceConfig } from '@convoy/instance/config/instance-config';
import type { InstanceConfig } from '@convoy/instance/config/instance-schema';
import { createLogger } from '@convoy/instance/logging/logger';
import { RecentLogs } from '@convoy/instance/logging/recent-logs';
import { Metrics } from '@convoy/instance/metrics/metrics';
import { runInstance } from '@convoy/instance/process/instance-process';
import type { ServiceProcess } from './process-commands.js';
import { type Flags, sourcesOf } from './settings.js';

type Logger = ReturnType<typeof createLogger>;

/** Starts an instance with the settings from flags, environment and file. */
export async function startInstance(flags: Flags, env = process.env): Promise<ServiceProcess> {
  const config = parseInstanceConfig(sourcesOf(flags, env));
  const recentLogs = new RecentLogs();
  const logger = createLogger({ ...config, recent: recentLogs });
  const fleet = await fleetOf(config, logger);
  const metrics = new Metrics({ processMetrics: true });
  const notifier = config.notify && (await notifierOf(config.notify, { config, fleet, logger, metrics }));
  const instance = await runInstance(config, { fleet, logger, recentLogs, metrics });
  notifier?.start();
  const close = async (): Promise<void> => {
    await notifier?.stop();
    await instance.close();
  };
  return { url: instance.url, logsElsewhere: config.logPath !== undefined, close };
}

async function notifierOf(
  settings: NotifySettings,
  instance: { config: InstanceConfig; fleet: Fleet; logger: Logger; metrics: Metrics },
): Promise<Notifier> {
  const { config, fleet, logger, metrics } = instance;
  const { createLoneNotifier } = await import('@convoy/coordinator/notifications/create-notifier');
  const count = (event: string, result: string): void => metrics.notifications.inc({ event, result });
  return createLoneNotifier(settings, { fleet, name: config.fleet, logger, count });
}

/** A lone instance does not load the modules of a fleet. */
async function fleetOf({ redis, fleet, fleetSecret }: InstanceConfig, logger: Logger): Promise<Fleet> {
  if (redis === undefined) return new LoneFleet();
  const { RedisFleet } = await import('@convoy/coordinator/fleet/redis-fleet');
  const { parseRedisSettings } = await import('@convoy/coordinator/config/redis-config');
  const settings = parseRedisSettings(redis instanceof Secret ? redis.reveal() : redis);
  return new RedisFleet({ redis: settings, fleet, fleetSecret, logger });
}
