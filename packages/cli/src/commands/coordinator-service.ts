import { parseCoordinatorConfig } from '@convoy/coordinator/config/coordinator-config';
import { runCoordinator } from '@convoy/coordinator/process/coordinator-process';
import { createLogger } from '@convoy/instance/logging/logger';
import { RecentLogs } from '@convoy/instance/logging/recent-logs';
import type { ServiceProcess } from './process-commands.js';
import { type Flags, sourcesOf } from './settings.js';

/** Starts a coordinator with the settings from flags, environment and file. */
export async function startCoordinator(flags: Flags, env = process.env): Promise<ServiceProcess> {
  const config = parseCoordinatorConfig(sourcesOf(flags, env));
  const recent = new RecentLogs();
  const logger = createLogger({ ...config, recent });
  const coordinator = await runCoordinator(config, { logger, recentLogs: () => recent.records });
  return { ...coordinator, logsElsewhere: config.logPath !== undefined };
}
