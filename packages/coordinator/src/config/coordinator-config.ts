import { z } from 'zod';
import { checkAccessSettings } from '@convoy/api/http/access-guard';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { isFleetName } from '../redis/keys.js';
import { Secret } from '@convoy/api/configuration/secret';
import { parseConfig } from './config-problems.js';
import { redisSchema } from './redis-config.js';

/** Default port of a coordinator; instances start at 27182. */
export const COORDINATOR_PORT_DEFAULT = 27_180;

/** Log levels as in mongosync, from the most to the least verbose. */
const verbosities = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'] as const;

const configSchema = z.strictObject({
  redis: redisSchema,
  fleet: z
    .string()
    .refine(isFleetName, 'must be 1 to 64 letters, digits, dots, dashes or underscores')
    .default('default'),
  port: z.int().min(0).max(65_535).default(COORDINATOR_PORT_DEFAULT),
  listen: z.string().min(1, 'must not be empty').default('127.0.0.1'),
  allowedHosts: z.array(z.string().min(1, 'must not be empty')).max(100).default([]),
  token: z
    .string()
    .regex(/^\S+$/, 'must be one word')
    .transform((text) => new Secret(text))
    .optional(),
  viewToken: z
    .string()
    .regex(/^\S+$/, 'must be one word')
    .transform((text) => new Secret(text))
    .optional(),
  allowUnauthenticated: z.boolean().default(false),
  verbosity: z.string().toUpperCase().pipe(z.enum(verbosities)).default('INFO'),
  logPath: z.string().min(1, 'must not be empty').optional(),
});

/** The settings of a coordinator process, frozen. Logs never show its secrets. */
export type CoordinatorConfig = Readonly<z.output<typeof configSchema>>;

/** Sources of a configuration. Flags override environment variables, which override the file. */
export interface CoordinatorConfigSources {
  /** The parsed JSON of the configuration file; see `readConfigFile`. */
  readonly file?: unknown;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Flags by the names of their settings; undefined for flags that are not set. */
  readonly flags?: Readonly<Record<string, unknown>>;
}

/** Environment variable of each setting. */
const environmentNames: Readonly<Record<keyof CoordinatorConfig, string>> = {
  redis: 'CONVOY_REDIS_URL',
  fleet: 'CONVOY_FLEET',
  port: 'CONVOY_PORT',
  listen: 'CONVOY_LISTEN',
  allowedHosts: 'CONVOY_ALLOWED_HOSTS',
  token: 'CONVOY_TOKEN',
  viewToken: 'CONVOY_VIEW_TOKEN',
  allowUnauthenticated: 'CONVOY_ALLOW_UNAUTHENTICATED',
  verbosity: 'CONVOY_VERBOSITY',
  logPath: 'CONVOY_LOG_PATH',
};

/** Converts the text of an environment variable or flag to its setting's type. Invalid texts stay unchanged. */
function typedValue(field: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (field === 'port') return /^\d{1,5}$/.test(value) ? Number(value) : value;
  if (field === 'allowUnauthenticated') return { true: true, false: false }[value] ?? value;
  if (field === 'allowedHosts') return value.split(',').map((host) => host.trim());
  return value;
}

function fromEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, unknown> {
  const given = Object.entries(environmentNames).map(([field, name]): [string, string | undefined] => [
    field,
    env[name],
  ]);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined && value !== ''));
}

/**
 * Merges file, environment and flags into one configuration.
 * @throws ConvoyError `invalidConfiguration` with the path of every invalid value, and no value
 */
export function parseCoordinatorConfig({
  file = {},
  env = {},
  flags = {},
}: CoordinatorConfigSources): CoordinatorConfig {
  if (typeof file !== 'object' || file === null || Array.isArray(file)) {
    throw new ConvoyError('invalidConfiguration', 'configuration: the file must contain one JSON object.');
  }
  const merged = new Map<string, unknown>(Object.entries(file));
  const origins = new Map<string, string>();
  for (const [field, value] of Object.entries(fromEnvironment(env))) {
    merged.set(field, typedValue(field, value));
    origins.set(field, environmentNames[field as keyof CoordinatorConfig]);
  }
  for (const [field, value] of Object.entries(flags)) {
    if (value === undefined) continue;
    merged.set(field, typedValue(field, value));
    origins.set(field, `--${field}`);
  }
  const config = parseConfig(configSchema, Object.fromEntries(merged), (field) => origins.get(field) ?? field);
  checkAccessSettings({ ...config, token: config.token?.reveal(), viewToken: config.viewToken?.reveal() });
  return Object.freeze(config);
}
