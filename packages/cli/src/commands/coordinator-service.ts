import { parseCoordinatorConfig } from '@convoy/coordinator/config/coordinator-config';
import { runCoordinator } from '@convoy/coordinator/process/coordinator-process';
import { createLogger } from '@convoy/instance/logging/logger';
import type { ServiceProcess } from './service-process.js';
import { type Flags, sourcesOf } from './settings.js';

/** Starts a coordinator with the settings from flags, environment and file. */
export function startCoordinator(flags: Flags): Promise<ServiceProcess> {
  const config = parseCoordinatorConfig(sourcesOf(flags));
  return runCoordinator(config, { logger: createLogger(config) });
}
