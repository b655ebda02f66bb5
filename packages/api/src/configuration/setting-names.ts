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

/** `cluster0` → `CONVOY_CLUSTER0`, `memoryBytesMax` → `CONVOY_MEMORY_BYTES_MAX`. */
export function environmentName(setting: string): string {
  return `CONVOY_${words(setting).join('_').toUpperCase()}`;
}

function words(setting: string): string[] {
  return setting.split(/_|(?=[A-Z])/);
}
