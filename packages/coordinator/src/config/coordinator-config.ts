import { z } from 'zod';
import { checkAccessSettings } from '@convoy/api/http/access-guard';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { isFleetName } from '../redis/keys.js';
import { Secret } from '@convoy/api/configuration/secret';
import { parseConfig } from './config-problems.js';
import { redisSchema } from './redis-config.js';

/** Where a coordinator process listens when nothing else is configured; instances begin at 27182. */
export const COORDINATOR_PORT_DEFAULT = 27_180;

/** Names as mongosync's users know them, from the most to the least talkative. */
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

/** The settings of a coordinator process, frozen. Secrets in it do not show when it is logged. */
export type CoordinatorConfig = Readonly<z.output<typeof configSchema>>;

/** Where a configuration comes from. Flags stand above the environment, and that above the file. */
export interface CoordinatorConfigSources {
  /** The parsed JSON of the configuration file; see `readConfigFile`. */
  readonly file?: unknown;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Flags by the names of the settings; undefined ones were not given. */
  readonly flags?: Readonly<Record<string, unknown>>;
}

/** The environment's name of each setting. */
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

/** A text of the environment or of a flag as the type that its setting has; texts that are none stay as they are. */
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
 * @throws ConvoyError `invalidConfiguration` that names every wrong value by its path and shows none
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
