import { type Command, Option } from 'commander';
import { readConfigFile } from '@convoy/api/configuration/config-file';
import { flagName, secretSettings } from '@convoy/api/configuration/setting-names';
import { FILE_FLAG_SUFFIX, type SettingSources } from '@convoy/api/configuration/setting-sources';
import type { CoordinatorConfig } from '@convoy/coordinator/config/coordinator-config';
import type { InstanceConfig } from '@convoy/instance/config/instance-schema';

/** Help text of each setting. */
type SettingTexts<Config> = Readonly<Record<keyof Config, string>>;

const access = {
  fleet: 'name of the fleet, if several use one Redis (default)',
  listen: 'address to listen on (127.0.0.1)',
  allowedHosts: 'other host names of this service, comma-separated',
  token: 'bearer token that requests must send',
  tls: 'JSON with files of a certificate: {"certFile", "keyFile", "clientCaFile"}',
  fleetSecret: 'secret that signs the messages in Redis, the same in all processes',
  allowUnauthenticated: 'listen beyond the local host without a token',
  notify: 'JSON with receivers of notifications: {"receivers": [{"name", "url", "secret"}]}',
  verbosity: 'TRACE, DEBUG, INFO, WARN, ERROR or FATAL (INFO)',
  logPath: 'folder of the log file, in place of standard output',
};

/** Settings of `convoy coordinator`. */
export const coordinatorSettings: SettingTexts<CoordinatorConfig> = {
  redis: 'URL of Redis',
  port: 'port of the fleet API (27180)',
  viewToken: 'read-only bearer token',
  ...access,
};

/** Settings of `convoy instance`. */
export const instanceSettings: SettingTexts<InstanceConfig> = {
  cluster0: 'connection string of one cluster',
  cluster1: 'connection string of the other cluster',
  id: 'name of its source shard; none for a lone instance',
  redis: 'URL of Redis; none for a lone instance',
  port: 'port of the API (27182)',
  ...access,
  syncUser: 'user that both connection strings must name',
  shards: 'JSON with credentials for the shards: {"cluster0": {"user", "password", "authSource"}}',
  sourceAccess: 'auto, direct (from the shards) or router (auto)',
  readPreference: 'members of the source to read from (primary)',
  memoryBytesMax: 'limit of all buffers, for example 128MB (128MiB)',
  readers: 'maximum concurrently copied partitions (4)',
  writers: 'maximum concurrent insert commands of the copy (4)',
  applyWorkers: 'workers that apply change events (4)',
  partition_seconds: 'time after which a reader closes its partition (20)',
  checkpoint_ms: 'interval of checkpoints (1000)',
  catalogInterval_seconds: 'interval of comparing indexes, options and views (30)',
  retry_minutes: 'time limit for retrying an operation (30)',
  loadRateBytesPerSecond: 'maximum bytes read from the source per second',
};

const { cluster0, cluster1, shards } = instanceSettings;
/** Settings of commands that open the clusters themselves. */
export const clusterSettings = { cluster0, cluster1, shards };

/** Settings from flags, and the file with others. */
export type Flags = Readonly<Record<string, unknown>> & { readonly config?: string };

/** Settings with secrets; `--token-file` names a file with the value of `--token`. */
const secrets: ReadonlySet<string> = new Set(secretSettings);

/** Adds a flag for each setting, and one for the file. */
export function addSettings(command: Command, settings: Readonly<Record<string, string>>): Command {
  command.option('--config <file>', 'YAML or JSON file with settings; environment variables and flags override it');
  for (const [setting, text] of Object.entries(settings)) {
    const value = setting === 'allowUnauthenticated' ? '' : ' <value>';
    command.option(flagName(setting) + value, text);
    addFormerName(command, setting, value);
    if (secrets.has(setting)) addFileFlag(command, setting);
  }
  return command;
}

/** Adds the flag that names a file with the value of a setting. */
function addFileFlag(command: Command, setting: string): void {
  command.option(`${flagName(setting + FILE_FLAG_SUFFIX)} <file>`, `file with the value of ${flagName(setting)}`);
}

/** Flags had the settings' names. They still work, with a warning; the help omits them. */
function addFormerName(command: Command, setting: string, value: string): void {
  const name = flagName(setting);
  if (name === `--${setting}`) return;
  command.addOption(new Option(`--${setting}${value}`).hideHelp());
  command.on(`option:${setting}`, () => console.error(`Warning: --${setting} is now ${name}.`));
}

/** Variables of former releases, by their present names. */
const formerVariables: Readonly<Record<string, string>> = {
  CONVOY_REDIS: 'CONVOY_REDIS_URL',
  CONVOY_REDIS_FILE: 'CONVOY_REDIS_URL_FILE',
};

/** The environment under present names. Former ones still work, with a warning, unless the present one is set too. */
export function presentEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const present = { ...env };
  for (const [former, name] of Object.entries(formerVariables)) {
    const value = env[former];
    if (value === undefined || value === '') continue;
    const isSet = Object.values(formerVariables).some((other) => (env[other] ?? '') !== '');
    console.error(`Warning: ${former} is now ${name}${isSet ? ', which is set: it has no effect' : ''}.`);
    if (!isSet) present[name] = value;
  }
  return present;
}

/** The flags of these settings, and the file with others, among all flags of a command. */
export function settingFlags(flags: Flags, settings: Readonly<Record<string, string>>): Flags {
  const names = ['config', ...Object.keys(settings).flatMap((setting) => [setting, setting + FILE_FLAG_SUFFIX])];
  return Object.fromEntries(names.flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name]]])));
}

/**
 * File, environment and flags; later ones override earlier ones.
 * @param flags as commander names them: `partitionSeconds` for `partition_seconds`
 * @param env this process's own by default
 */
export function sourcesOf({ config, ...flags }: Flags, env = process.env): SettingSources {
  const settings = Object.keys({ ...instanceSettings, ...coordinatorSettings });
  const byFlag = new Map(settings.map((setting) => [new Option(flagName(setting)).attributeName(), setting]));
  const named = Object.entries(flags).map(([name, value]): [string, unknown] => [byFlag.get(name) ?? name, value]);
  return {
    ...(config !== undefined && readConfigFile(config)),
    env: presentEnvironment(env),
    flags: Object.fromEntries(named),
  };
}

/** Flags that take a connection string or the name of a cluster in the settings. */
const clusterFlags = ['cluster', 'source', 'destination'];
/** Flags that take an address, a secret only with a password. The other secret settings are secrets as a whole. */
const addressFlags = ['cluster0', 'cluster1', 'redis', ...clusterFlags];
const withPassword = /^[a-z+]+:\/\/[^/@]*:[^@]*@/i;

/** A flag with a secret as its value. */
interface SecretFlag {
  readonly value: string;
  /** For the user: what happened, and what to do. */
  readonly warning: string;
}

/** The flags of a command that show a secret to everybody who can list processes. */
export function secretFlags(command: Command): SecretFlag[] {
  return [...secretSettings, ...clusterFlags].flatMap((name) => {
    const value: unknown = command.getOptionValue(name);
    if (command.getOptionValueSource(name) !== 'cli' || typeof value !== 'string') return [];
    if (addressFlags.includes(name) && !withPassword.test(value)) return [];
    const instead = clusterFlags.includes(name)
      ? 'Give it the name cluster0 or cluster1, with --cluster0-file or --cluster1-file.'
      : `Use ${flagName(name + FILE_FLAG_SUFFIX)}.`;
    return [{ value, warning: `Warning: the list of processes shows the value of ${flagName(name)}. ${instead}` }];
  });
}

/** Warns of secrets among the flags, and takes them out of the process's line in the list of processes. */
export function hideSecretFlags(command: Command): void {
  const found = secretFlags(command);
  if (found.length === 0) return;
  for (const { warning } of found) console.error(warning);
  const hidden = process.argv
    .slice(2)
    .map((word) => found.reduce((text, { value }) => text.replaceAll(value, '***'), word));
  process.title = ['convoy', ...hidden].join(' ');
}
