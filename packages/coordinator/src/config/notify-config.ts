import { z } from 'zod';
import { notifySchema } from '@convoy/api/configuration/notify-settings';
import { parseConfig } from '@convoy/api/configuration/config-problems';
import { mergeSettings, type SettingSources } from '@convoy/api/configuration/setting-sources';
import { fleetSchema, settingNames } from './coordinator-config.js';

const schema = z.object({ notify: notifySchema, fleet: fleetSchema });

/** What the sender of a test notification needs. */
export type NotifyConfig = z.output<typeof schema>;

/**
 * Reads only the settings of notifications, from the configuration of a coordinator or of a lone instance.
 * @throws ConvoyError `invalidConfiguration` with the path of every invalid value, and no value
 */
export function parseNotifyConfig(sources: SettingSources): NotifyConfig {
  const { values, originOf } = mergeSettings(sources, settingNames);
  return parseConfig(schema, values, originOf);
}
