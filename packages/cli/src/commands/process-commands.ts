import { once } from 'node:events';
import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import { parseCoordinatorConfig } from '@convoy/coordinator/config/coordinator-config';
import { parseRedisSettings } from '@convoy/coordinator/config/redis-config';
import { RedisFleet } from '@convoy/coordinator/fleet/redis-fleet';
import { runCoordinator } from '@convoy/coordinator/process/coordinator-process';
import { parseInstanceConfig } from '@convoy/instance/config/instance-config';
import { Secret } from '@convoy/api/configuration/secret';
import { createLogger } from '@convoy/instance/logging/logger';
import { runInstance } from '@convoy/instance/process/instance-process';
import type { Command } from 'commander';
import { interruption } from './interruption.js';
import { addSettings, coordinatorSettings, type Flags, instanceSettings, sourcesOf } from './settings.js';

/** How long an orderly end may take before the process ends anyway. */
const closeLimit_ms = 8_000;

/** A process that serves requests. */
interface Service {
  readonly url: string;
  close(): Promise<void>;
}

/** Adds `convoy instance` and `convoy coordinator`. */
export function addProcessCommands(program: Command): void {
  processCommand(program, 'instance', 'sync one source shard, or a whole cluster alone', instanceSettings).action((flags: Flags) => serve('instance', () => startInstance(flags)));
  processCommand(program, 'coordinator', 'serve the fleet API', coordinatorSettings).action((flags: Flags) => serve('coordinator', () => startCoordinator(flags)));
}

function startInstance(flags: Flags): Promise<Service> {
  const config = parseInstanceConfig(sourcesOf(flags));
  const logger = createLogger(config);
  if (config.redis === undefined) return runInstance(config, { fleet: new LoneFleet(), logger });
  const redis = parseRedisSettings(config.redis instanceof Secret ? config.redis.reveal() : config.redis);
  return runInstance(config, { fleet: new RedisFleet({ redis, fleet: config.fleet, logger }), logger });
}

function startCoordinator(flags: Flags): Promise<Service> {
  const config = parseCoordinatorConfig(sourcesOf(flags));
  return runCoordinator(config, { logger: createLogger(config) });
}

function processCommand(program: Command, name: string, description: string, settings: Readonly<Record<string, string>>): Command {
  return addSettings(program.command(name).description(description), settings);
}

/** Runs a service until the process is told to end, and then ends it in order. */
async function serve(name: string, start: () => Promise<Service>): Promise<void> {
  const signal = interruption();
  const service = await start();
  console.log(`${name} listens on ${service.url}`);
  if (!signal.aborted) await once(signal, 'abort');
  // What hangs must not keep a process alive that was told to end; all durable state is safe at any instruction.
  setTimeout(() => process.exit(), closeLimit_ms).unref();
  await service.close();
}
