/** Settings with secrets: environment variables and flags can name a file with the value. */
export const secretSettings = [
  'cluster0',
  'cluster1',
  'shards',
  'redis',
  'token',
  'viewToken',
  'notify',
  'fleetSecret',
] as const;

/** `memoryBytesMax` → `--memory-bytes-max`, `partition_seconds` → `--partition-seconds`. */
export function flagName(setting: string): string {
  return `--${words(setting).join('-').toLowerCase()}`;
}

/** Variable of the setting `redis`, of instances, coordinators, demo and tests alike. */
const REDIS_VARIABLE = 'CONVOY_REDIS_URL';

/** `cluster0` → `CONVOY_CLUSTER0`, `memoryBytesMax` → `CONVOY_MEMORY_BYTES_MAX`; `redis` → `CONVOY_REDIS_URL`. */
export function environmentName(setting: string): string {
  if (setting === 'redis') return REDIS_VARIABLE;
  return `CONVOY_${words(setting).join('_').toUpperCase()}`;
}

function words(setting: string): string[] {
  return setting.split(/_|(?=[A-Z])/);
}
