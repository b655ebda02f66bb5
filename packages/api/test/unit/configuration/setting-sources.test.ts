import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { mergeSettings, type SettingSources } from '@convoy/api/configuration/setting-sources';
import { writtenFiles } from './written-files.js';

const names = {
  variables: { token: 'CONVOY_TOKEN', shards: 'CONVOY_SHARDS', port: 'CONVOY_PORT' },
  kinds: { port: 'number', shards: 'json' },
} as const;

describe('mergeSettings', () => {
  const written = writtenFiles();
  const valuesOf = (sources: SettingSources) => mergeSettings(sources, names).values;

  it('reads secrets from files that variables and flags name', () => {
    const file = written('token', 's3cret\n');
    expect(valuesOf({ env: { CONVOY_TOKEN_FILE: file } })).toEqual({ token: 's3cret' });
    expect(valuesOf({ flags: { tokenFile: file } })).toEqual({ token: 's3cret' });
    expect(valuesOf({ env: { CONVOY_SHARDS_FILE: written('shards', '{"cluster0": {}}\r\n') } })).toEqual({
      shards: { cluster0: {} },
    });
  });

  it('reads every value of the configuration file that names a file', () => {
    const file = written('password', 'p4ss word\n\n');
    expect(valuesOf({ file: { redis: { host: 'r', password: { file } }, shards: [{ file }] } })).toEqual({
      redis: { host: 'r', password: 'p4ss word\n' },
      shards: ['p4ss word\n'],
    });
  });

  it('lets flags override variables, with and without a file', () => {
    const file = written('token', 'ofFile');
    expect(valuesOf({ env: { CONVOY_TOKEN_FILE: '/nowhere' }, flags: { token: 'ofFlag' } })).toEqual({
      token: 'ofFlag',
    });
    expect(valuesOf({ env: { CONVOY_TOKEN: 'x' }, flags: { tokenFile: file } })).toEqual({ token: 'ofFile' });
    expect(valuesOf({ file: { token: 'x' }, env: { CONVOY_TOKEN_FILE: file } })).toEqual({ token: 'ofFile' });
  });

  it('refuses a value beside its file', () => {
    expect(() => valuesOf({ env: { CONVOY_TOKEN: 's3cret', CONVOY_TOKEN_FILE: 'x' } })).toThrow(
      'invalidConfiguration: CONVOY_TOKEN_FILE: cannot be set together with CONVOY_TOKEN.',
    );
    expect(() => valuesOf({ flags: { token: 's3cret', tokenFile: 'x' } })).toThrow(
      '--token-file: cannot be set together with --token.',
    );
  });

  it('names the origin of an unreadable file, and not its path, which may be the secret itself', () => {
    expect(() => valuesOf({ env: { CONVOY_TOKEN_FILE: 's3cret' } })).toThrow(
      'invalidConfiguration: CONVOY_TOKEN_FILE: the file cannot be read (ENOENT). Check its path and permissions.',
    );
    expect(() => valuesOf({ flags: { tokenFile: tmpdir() } })).toThrow(
      '--token-file: the file cannot be read (EISDIR)',
    );
    expect(() => valuesOf({ file: { redis: { password: { file: 's3cret' } } } })).toThrow('redis.password: the file');
    expect(() => valuesOf({ flags: { tokenFile: written('large', 'x'.repeat(65_537)) } })).toThrow(
      '--token-file: the file has more than 65536 bytes.',
    );
  });

  it('names origins by flag, variable, and path with file and line', () => {
    const { originOf } = mergeSettings(
      {
        file: { redis: { host: 1 }, port: 2, token: 3 },
        placeOf: (path) => (path[0] === 'redis' ? 'convoy.yaml, line 7' : null),
        env: { CONVOY_PORT: '4' },
        flags: { checkpoint_ms: 5, tokenFile: written('token', 'x') },
      },
      names,
    );
    expect([['redis', 'host'], ['port'], ['checkpoint_ms', 0], ['token'], ['other'], []].map(originOf)).toEqual([
      'redis.host (convoy.yaml, line 7)',
      'CONVOY_PORT',
      '--checkpoint-ms[0]',
      '--token-file',
      'other',
      'configuration',
    ]);
  });
});
