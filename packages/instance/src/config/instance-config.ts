import type { z } from 'zod';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { checkAccessSettings } from '@convoy/api/http/access-guard';
import { userOf } from '../cluster/driver/connection-string.js';
import { instanceSchema, type InstanceConfig } from './instance-schema.js';

/** Number of wrong values that one description names. */
const problemsNamedMax = 30;

/** Sources of a configuration. Flags override the environment, which overrides the file. */
export interface InstanceConfigSources {
  /** The parsed content of the configuration file. */
  file?: unknown;
  env?: Readonly<Record<string, string | undefined>>;
  /** Flags by the names of the settings; flags that were not given are undefined. */
  flags?: Readonly<Record<string, unknown>>;
}

/** How a text of the environment or of a flag becomes the type of its setting. */
const textKinds: Partial<Record<keyof InstanceConfig, 'number' | 'boolean' | 'list' | 'json'>> = {
  port: 'number',
  readers: 'number',
  writers: 'number',
  applyWorkers: 'number',
  partition_seconds: 'number',
  checkpoint_ms: 'number',
  catalogInterval_seconds: 'number',
  retry_minutes: 'number',
  allowUnauthenticated: 'boolean',
  allowedHosts: 'list',
  shards: 'json',
};

/** `cluster0` → `CONVOY_CLUSTER0`, `memoryBytesMax` → `CONVOY_MEMORY_BYTES_MAX`. */
export function environmentName(setting: string): string {
  return `CONVOY_${setting.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** Leaves texts that do not fit the type of their setting; the schema refuses them. */
function typedValue(setting: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  switch (textKinds[setting as keyof InstanceConfig]) {
    case 'number':
      return /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
    case 'boolean':
      return { true: true, false: false }[value] ?? value;
    case 'list':
      return value.split(',').map((part) => part.trim());
    case 'json':
      return parsedJson(value);
    case undefined:
      return value;
  }
}

function parsedJson(value: string): unknown {
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

interface Merged {
  values: Map<string, unknown>;
  /** The name of a setting in the source that its value came from. */
  origins: Map<string, string>;
}

function merge({ file = {}, env = {}, flags = {} }: InstanceConfigSources): Merged {
  if (typeof file !== 'object' || file === null || Array.isArray(file)) {
    throw new ConvoyError('invalidConfiguration', 'configuration: the file must contain one object of settings.');
  }
  const values = new Map<string, unknown>(Object.entries(file));
  const origins = new Map<string, string>();
  const take = (setting: string, value: unknown, origin: string) => {
    values.set(setting, typedValue(setting, value));
    origins.set(setting, origin);
  };
  for (const setting of Object.keys(instanceSchema.shape)) {
    const name = environmentName(setting);
    const value = env[name];
    if (value !== undefined && value !== '') take(setting, value, name);
  }
  for (const [setting, value] of Object.entries(flags)) if (value !== undefined) take(setting, value, `--${setting}`);
  return { values, origins };
}

function pathText([setting, ...rest]: readonly PropertyKey[], origins: ReadonlyMap<string, string>): string {
  if (setting === undefined) return 'configuration';
  const inside = rest.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return (origins.get(String(setting)) ?? String(setting)) + inside;
}

function describe(issues: readonly z.core.$ZodIssue[], origins: ReadonlyMap<string, string>): string {
  const problems = issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [`${pathText(issue.path, origins)}: ${issue.message}`];
    return issue.keys.map((key) => `${pathText([...issue.path, key], origins)}: unknown setting`);
  });
  const more = problems.length - problemsNamedMax;
  return problems.slice(0, problemsNamedMax).join('; ') + (more > 0 ? `; and ${more} more` : '');
}

function checkSyncUser(config: InstanceConfig): void {
  if (config.syncUser === undefined) return;
  for (const name of ['cluster0', 'cluster1'] as const) {
    if (userOf(config[name].reveal()) === config.syncUser) continue;
    throw new ConvoyError(
      'syncUserMismatch',
      `${name}: the connection string has another user than syncUser. Use the same user in both.`,
    );
  }
}

/**
 * Merges file, environment and flags into one configuration, parsed once.
 * @throws ConvoyError `invalidConfiguration`, which names every wrong value by its path and shows none;
 *   `syncUserMismatch`
 */
export function parseInstanceConfig(sources: InstanceConfigSources): InstanceConfig {
  const { values, origins } = merge(sources);
  const result = instanceSchema.safeParse(Object.fromEntries(values), {
    error: (issue) => (issue.code === 'invalid_type' && issue.input === undefined ? 'is required' : undefined),
  });
  if (!result.success) throw new ConvoyError('invalidConfiguration', describe(result.error.issues, origins));
  const config = result.data;
  checkAccessSettings({ ...config, token: config.token?.reveal() });
  checkSyncUser(config);
  return deepFrozen(config);
}

function deepFrozen<T extends object>(value: T): T {
  for (const inner of Object.values(value) as unknown[])
    if (typeof inner === 'object' && inner !== null) deepFrozen(inner);
  return Object.freeze(value);
}
