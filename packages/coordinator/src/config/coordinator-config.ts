import { z } from 'zod';
import { notifySchema } from '@convoy/api/configuration/notify-settings';
import { checkAccessSettings } from '@convoy/api/http/access-guard';
import { isFleetName } from '../redis/keys.js';
import { parseConfig } from '@convoy/api/configuration/config-problems';
import { Secret } from '@convoy/api/configuration/secret';
import { mergeSettings, type SettingSources, type TextKind } from '@convoy/api/configuration/setting-sources';
import { fleetSecretSchema } from '@convoy/api/configuration/fleet-secret';
import { tlsSchema } from '@convoy/api/configuration/tls-settings';
import { redisSchema } from './redis-config.js';

/** Default port of a coordinator; instances start at 27182. */
export const COORDINATOR_PORT_DEFAULT = 27_180;

/** Log levels as in mongosync, from the most to the least verbose. */
const verbosities = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'] as const;

/** Name of a fleet. */
export const fleetSchema = z
  .string()
  .refine(isFleetName, 'must be 1 to 64 letters, digits, dots, dashes or underscores')
  .default('default');

const configSchema = z.strictObject({
  redis: redisSchema,
  fleet: fleetSchema,
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
  tls: tlsSchema.optional(),
  notify: notifySchema.optional(),
  fleetSecret: fleetSecretSchema.optional(),
  verbosity: z.string().toUpperCase().pipe(z.enum(verbosities)).default('INFO'),
  logPath: z.string().min(1, 'must not be empty').optional(),
});

/** The settings of a coordinator process, frozen. Logs never show its secrets. */
export type CoordinatorConfig = Readonly<z.output<typeof configSchema>>;

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
  tls: 'CONVOY_TLS',
  notify: 'CONVOY_NOTIFY',
  fleetSecret: 'CONVOY_FLEET_SECRET',
  verbosity: 'CONVOY_VERBOSITY',
  logPath: 'CONVOY_LOG_PATH',
};

/** Kinds of the settings that are no texts. */
const textKinds: Readonly<Partial<Record<keyof CoordinatorConfig, TextKind>>> = {
  port: 'number',
  allowUnauthenticated: 'boolean',
  allowedHosts: 'list',
  tls: 'json',
  notify: 'json',
};

/** What the sources know about the settings. */
export const settingNames = { variables: environmentNames, kinds: textKinds };

/**
 * Merges file, environment and flags into one configuration.
 * @throws ConvoyError `invalidConfiguration` with the origin of every invalid value, and no value
 */
export function parseCoordinatorConfig(sources: SettingSources): CoordinatorConfig {
  const { values, originOf } = mergeSettings(sources, settingNames);
  const config = parseConfig(configSchema, values, originOf);
  checkAccessSettings({ ...config, token: config.token?.reveal(), viewToken: config.viewToken?.reveal() });
  return Object.freeze(config);
}
