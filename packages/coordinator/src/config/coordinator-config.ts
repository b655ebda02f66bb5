import { z } from 'zod';
import { checkAccessSettings } from '@convoy/api/http/access-guard';
import { isFleetName } from '../redis/keys.js';
import { parseConfig } from '@convoy/api/configuration/config-problems';
import { portSchema, processSettings, settingNamesOf, tokenSchema } from '@convoy/api/configuration/process-settings';
import { mergeSettings, type SettingSources } from '@convoy/api/configuration/setting-sources';
import { redisSchema } from './redis-config.js';

/** Default port of a coordinator; instances start at 27182. */
export const COORDINATOR_PORT_DEFAULT = 27_180;

/** Name of a fleet. */
export const fleetSchema = z
  .string()
  .refine(isFleetName, 'must be 1 to 64 letters, digits, dots, dashes or underscores')
  .default('default');

const configSchema = z.strictObject({
  redis: redisSchema,
  fleet: fleetSchema,
  port: portSchema.default(COORDINATOR_PORT_DEFAULT),
  viewToken: tokenSchema.optional(),
  ...processSettings,
});

/** The settings of a coordinator process, frozen. Logs never show its secrets. */
export type CoordinatorConfig = Readonly<z.output<typeof configSchema>>;

/** What the sources know about the settings. */
export const settingNames = settingNamesOf(configSchema);

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
