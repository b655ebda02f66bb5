import { expect, test } from 'vitest';
import { environmentName, flagName } from '@convoy/api/configuration/setting-names';

test('settings have one flag and one environment variable each', () => {
  const names = ['cluster0', 'memoryBytesMax', 'partition_seconds', 'logPath'];
  expect(names.map(environmentName)).toEqual([
    'CONVOY_CLUSTER0',
    'CONVOY_MEMORY_BYTES_MAX',
    'CONVOY_PARTITION_SECONDS',
    'CONVOY_LOG_PATH',
  ]);
  expect(names.map(flagName)).toEqual(['--cluster0', '--memory-bytes-max', '--partition-seconds', '--log-path']);
});
