import { readConfigFile } from '@convoy/coordinator/config/config-file';
import type { CoordinatorConfig } from '@convoy/coordinator/config/coordinator-config';
import type { InstanceConfig } from '@convoy/instance/config/instance-schema';
import type { Command } from 'commander';

/** What each setting is, for the help. Flags bear the settings' own names, as mongosync's do. */
type SettingTexts<Config> = Readonly<Record<keyof Config, string>>;

const access = {
  fleet: 'name of the fleet, where several share one Redis (default)',
  listen: 'address to listen on (127.0.0.1)',
  allowedHosts: 'further names of this service, separated by commas',
  token: 'bearer token that requests must carry',
  allowUnauthenticated: 'listen elsewhere than on the local host without a token',
  verbosity: 'TRACE, DEBUG, INFO, WARN, ERROR or FATAL (INFO)',
  logPath: 'folder of the log file instead of standard output',
};

/** Settings of `convoy coordinator`. */
export const coordinatorSettings: SettingTexts<CoordinatorConfig> = {
  redis: 'URL of Redis',
  port: 'port of the fleet API (27180)',
  viewToken: 'bearer token of those who may look and not command',
  ...access,
};

/** Settings of `convoy instance`. */
export const instanceSettings: SettingTexts<InstanceConfig> = {
  cluster0: 'connection string of one cluster',
  cluster1: 'connection string of the other cluster',
  id: 'name of the source shard that this instance is for; none for an instance that works alone',
  redis: 'URL of Redis; none for an instance that works alone',
  port: 'port of the API (27182)',
  ...access,
  syncUser: 'user that both connection strings must have',
  shards: 'JSON with credentials for the shards: {"cluster0": {"user", "password", "authSource"}}',
  sourceAccess: 'auto, direct (straight from the shards) or router (auto)',
  readPreference: 'members of the source to read from (primary)',
  memoryBytesMax: 'bound of all buffers, for example 128MB (128MiB)',
  readers: 'partitions that are copied at once at most (4)',
  writers: 'insert commands in flight at most while copying (4)',
  applyWorkers: 'lanes that apply change events (4)',
  partition_seconds: 'after this long a reader closes its partition (20)',
  checkpoint_ms: 'pause between two checkpoints (1000)',
  catalogInterval_seconds: 'how often indexes, options and views are compared (30)',
  retry_minutes: 'how long an operation that fails is repeated (30)',
  loadRateBytesPerSecond: 'upper bound of what is read from the source per second',
};

/** Settings that were given as flags, and the file that holds others. */
export type Flags = Readonly<Record<string, unknown>> & { readonly config?: string };

/** Adds a flag for each setting, and one for the file. */
export function addSettings(command: Command, settings: Readonly<Record<string, string>>): Command {
  command.option(
    '--config <file>',
    'JSON file with settings, which variables of the environment and flags stand above',
  );
  for (const [setting, text] of Object.entries(settings))
    command.option(setting === 'allowUnauthenticated' ? `--${setting}` : `--${setting} <value>`, text);
  return command;
}

/** File, environment and flags: the later ones count more. */
export function sourcesOf({ config, ...flags }: Flags): {
  file?: unknown;
  env: NodeJS.ProcessEnv;
  flags: Readonly<Record<string, unknown>>;
} {
  return { ...(config !== undefined && { file: readConfigFile(config) }), env: process.env, flags };
}
