import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { flagName, secretSettings } from '@convoy/api/configuration/setting-names';
import { addSettings, coordinatorSettings, instanceSettings, secretFlags } from '../../../src/commands/settings.js';

function found(...args: string[]): string[] {
  const command = addSettings(new Command('probe'), instanceSettings).option('--cluster <cluster>', '', 'cluster0');
  return secretFlags(command.parse(args, { from: 'user' })).map(({ warning }) => warning);
}

describe('secrets among the flags', () => {
  test('are tokens, credentials, and addresses with a password', () => {
    expect(found('--token', 's3cret')).toEqual([
      'Warning: the list of processes shows the value of --token. Use --token-file.',
    ]);
    expect(found('--cluster', 'mongodb+srv://user:s3cret@h/')).toEqual([
      'Warning: the list of processes shows the value of --cluster. Give it the name cluster0 or cluster1, with ' +
        '--cluster0-file or --cluster1-file.',
    ]);
    for (const flag of ['--cluster0', '--cluster1']) expect(found(flag, 'mongodb://user:s3cret@h/')).toHaveLength(1);
    expect(found('--redis', 'redis://:s3cret@h:6379')).toHaveLength(1);
    expect(found('--shards', '{"cluster0": {"user": "u", "password": "s3cret"}}')).toHaveLength(1);
  });

  test('are all secret settings but addresses, whatever settings follow', () => {
    const addresses: readonly string[] = ['cluster0', 'cluster1', 'redis'];
    const command = addSettings(new Command('probe'), { ...instanceSettings, ...coordinatorSettings });
    const whole = secretSettings.filter((setting) => !addresses.includes(setting));
    expect(whole).toEqual(expect.arrayContaining(['fleetSecret', 'notify']));
    const flags = whole.flatMap((setting) => [flagName(setting), 's3cret']);
    expect(secretFlags(command.parse(flags, { from: 'user' }))).toHaveLength(whole.length);
  });

  test('are not names, addresses without a password, and files', () => {
    expect(
      found(
        ...['--cluster', 'cluster1', '--cluster0', 'mongodb://h/', '--cluster1', 'mongodb://user@h/?authMechanism=X'],
        ...['--redis', 'redis://h:6379', '--token-file', 'token', '--cluster1-file', 'x'],
      ),
    ).toEqual([]);
  });
});
