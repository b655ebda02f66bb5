import { once } from 'node:events';
import { readConfigFile } from '@convoy/coordinator/config/config-file';
import { parseCoordinatorConfig, type CoordinatorConfig } from '@convoy/coordinator/config/coordinator-config';
import { runCoordinator } from '@convoy/coordinator/process/coordinator-process';
import { createLogger } from '@convoy/instance/logging/logger';
import { interruption } from './interruption.js';
import type { Command } from 'commander';

/** Flags bear the names of the settings, as mongosync's do; each setting is also a field of the file and a variable of the environment. */
type SettingTexts<Config> = Readonly<Record<keyof Config, string>>;

const coordinatorSettings: SettingTexts<CoordinatorConfig> = {
  redis: 'URL of Redis',
  fleet: 'name of the fleet, where several share one Redis',
  port: 'port of the fleet API (27180)',
  listen: 'address to listen on (127.0.0.1)',
  allowedHosts: 'further names of this service, separated by commas',
  token: 'bearer token that requests must carry',
  allowUnauthenticated: 'listen elsewhere than on the local host without a token',
  verbosity: 'TRACE, DEBUG, INFO, WARN, ERROR or FATAL',
  logPath: 'folder of the log file instead of standard output',
};

/** How long an orderly end may take before the process ends anyway. */
const closeLimit_ms = 8_000;

/** A process that serves requests. */
interface Service {
  readonly url: string;
  close(): Promise<void>;
}

type Flags = Readonly<Record<string, unknown>> & { readonly config?: string };

/** Adds `convoy coordinator` and `convoy instance`. */
export function addProcessCommands(program: Command): void {
  processCommand(program, 'coordinator', 'serve the fleet API and the dashboard', coordinatorSettings).action((flags: Flags) =>
    serve('coordinator', () => {
      const config = parseCoordinatorConfig(sourcesOf(flags));
      return runCoordinator(config, { logger: createLogger(config) });
    }),
  );
}

function processCommand(program: Command, name: string, description: string, settings: Readonly<Record<string, string>>): Command {
  const command = program.command(name).description(description).option('--config <file>', 'JSON file with settings');
  for (const [setting, text] of Object.entries(settings)) command.option(setting === 'allowUnauthenticated' ? `--${setting}` : `--${setting} <value>`, text);
  return command;
}

/** File, environment and flags: the later ones count more. */
function sourcesOf({ config, ...flags }: Flags): { file?: unknown; env: NodeJS.ProcessEnv; flags: Readonly<Record<string, unknown>> } {
  return { ...(config !== undefined && { file: readConfigFile(config) }), env: process.env, flags };
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
