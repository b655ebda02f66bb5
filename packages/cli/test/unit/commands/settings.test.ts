import { Command } from 'commander';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { parseInstanceConfig } from '@convoy/instance/config/instance-config';
import {
  addSettings,
  type Flags,
  instanceSettings,
  presentEnvironment,
  sourcesOf,
} from '@convoy/cli/commands/settings';

const clusters = ['--cluster0', 'mongodb://a/', '--cluster1', 'mongodb://b/'];

const warnings = vi.spyOn(console, 'error').mockImplementation(() => undefined);
beforeEach(() => warnings.mockClear());
afterAll(() => warnings.mockRestore());

function parsed(...args: string[]) {
  const command = addSettings(new Command('instance').exitOverride(), instanceSettings);
  const { flags } = sourcesOf(command.parse([...clusters, ...args], { from: 'user' }).opts<Flags>());
  return parseInstanceConfig({ ...(flags !== undefined && { flags }) });
}

describe('flags of settings', () => {
  test('have dashes between words', () => {
    expect(
      parsed('--memory-bytes-max', '64MB', '--partition-seconds', '5', '--checkpoint-ms', '200', '--log-path', 'x'),
    ).toMatchObject({ memoryBytesMax: 64 * 2 ** 20, partition_seconds: 5, checkpoint_ms: 200, logPath: 'x' });
    expect(parsed('--allow-unauthenticated')).toMatchObject({ allowUnauthenticated: true });
  });

  test('take the names of settings too, with one warning for each', () => {
    expect(
      parsed('--memoryBytesMax', '64MB', '--partition_seconds', '5', '--allowUnauthenticated', '--allowedHosts', 'a,b'),
    ).toMatchObject({
      memoryBytesMax: 64 * 2 ** 20,
      partition_seconds: 5,
      allowUnauthenticated: true,
      allowedHosts: ['a', 'b'],
    });
    expect(warnings.mock.calls.flat()).toEqual([
      'Warning: --memoryBytesMax is now --memory-bytes-max.',
      'Warning: --partition_seconds is now --partition-seconds.',
      'Warning: --allowUnauthenticated is now --allow-unauthenticated.',
      'Warning: --allowedHosts is now --allowed-hosts.',
    ]);
  });

  test('are lower case with dashes in the help, without former names', () => {
    const help = addSettings(new Command('instance'), instanceSettings).helpInformation();
    const flags = help.match(/--[A-Za-z0-9_-]+/g) ?? [];
    expect(flags).toContain('--memory-bytes-max');
    expect(flags).toContain('--token-file');
    expect(flags.filter((flag) => !/^--[a-z0-9]+(-[a-z0-9]+)*$/.test(flag))).toEqual([]);
  });
});

describe('variables of the environment', () => {
  const required = { CONVOY_CLUSTER0: 'mongodb://a/', CONVOY_CLUSTER1: 'mongodb://b/' };

  test('take the former name of the Redis, with a warning', () => {
    const env = presentEnvironment({ ...required, CONVOY_REDIS: 'redis://former/' });
    expect(parseInstanceConfig({ env }).redis).toBeDefined();
    expect(warnings.mock.calls).toEqual([['Warning: CONVOY_REDIS is now CONVOY_REDIS_URL.']]);
  });

  test('take the former name of the file with the Redis, with a warning', () => {
    expect(presentEnvironment({ CONVOY_REDIS_FILE: 'a' })).toMatchObject({ CONVOY_REDIS_URL_FILE: 'a' });
    expect(warnings.mock.calls).toEqual([['Warning: CONVOY_REDIS_FILE is now CONVOY_REDIS_URL_FILE.']]);
  });

  test.each(['CONVOY_REDIS_URL', 'CONVOY_REDIS_URL_FILE'])('%s stands above the former names', (name) => {
    const env = presentEnvironment({ [name]: 'present', CONVOY_REDIS: 'former' });
    expect(env).toEqual({ [name]: 'present', CONVOY_REDIS: 'former' });
    expect(warnings.mock.calls).toEqual([
      ['Warning: CONVOY_REDIS is now CONVOY_REDIS_URL, which is set: it has no effect.'],
    ]);
  });

  test('without former names bring no warning', () => {
    presentEnvironment({ ...required, CONVOY_REDIS: '', CONVOY_REDIS_URL: 'redis://present/' });
    expect(warnings).not.toHaveBeenCalled();
  });
});
