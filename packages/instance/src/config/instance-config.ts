import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { parseConfig } from '@convoy/api/configuration/config-problems';
import { settingNamesOf } from '@convoy/api/configuration/process-settings';
import { mergeSettings, type SettingSources } from '@convoy/api/configuration/setting-sources';
import { checkAccessSettings } from '@convoy/api/http/access-guard';
import { userOf } from '@convoy/api/connection/connection-string';
import { instanceSchema, type InstanceConfig } from './instance-schema.js';

const settingNames = settingNamesOf(instanceSchema, {
  readers: 'number',
  writers: 'number',
  applyWorkers: 'number',
  partition_seconds: 'number',
  checkpoint_ms: 'number',
  catalogInterval_seconds: 'number',
  retry_minutes: 'number',
  shards: 'json',
});

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
 * @throws ConvoyError `invalidConfiguration`, which names every wrong value by its source and shows none;
 *   `syncUserMismatch`
 */
export function parseInstanceConfig(sources: SettingSources): InstanceConfig {
  const { values, originOf } = mergeSettings(sources, settingNames);
  const config = parseConfig(instanceSchema, values, originOf);
  checkAccessSettings({ ...config, token: config.token?.reveal() });
  checkSyncUser(config);
  if (config.notify !== undefined && config.redis !== undefined) {
    throw new ConvoyError(
      'invalidConfiguration',
      'notify: in a fleet the coordinators send the notifications. Set it in their configuration.',
    );
  }
  return deepFrozen(config);
}

function deepFrozen<T extends object>(value: T): T {
  for (const inner of Object.values(value) as unknown[])
    if (typeof inner === 'object' && inner !== null) deepFrozen(inner);
  return Object.freeze(value);
}
