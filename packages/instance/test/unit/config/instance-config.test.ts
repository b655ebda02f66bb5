import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { SettingSources } from '@convoy/api/configuration/setting-sources';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';

const file = {
  cluster0: 'mongodb://us%40er:hidden@a:1,b:2/?replicaSet=rs',
  cluster1: 'mongodb+srv://us%40er:hidden@c.example/',
};

function failureOf(sources: SettingSources): ConvoyError {
  try {
    parseInstanceConfig(sources);
  } catch (error) {
    expect(error).toBeInstanceOf(ConvoyError);
    expect((error as ConvoyError).errorDescription).not.toContain('hidden');
    return error as ConvoyError;
  }
  throw new Error('The configuration was accepted');
}

describe('the configuration', () => {
  test('needs the two clusters alone', () => {
    const config = parseInstanceConfig({ file });
    expect(config.cluster0.reveal()).toBe(file.cluster0);
    expect(config).toMatchObject({
      port: 27_182,
      listen: '127.0.0.1',
      fleet: 'default',
      memoryBytesMax: 128 * 2 ** 20,
      partition_seconds: 20,
      retry_minutes: 30,
      readPreference: 'primary',
      sourceAccess: 'auto',
      verbosity: 'INFO',
      shards: {},
    });
    expect(config.id).toBeUndefined();
  });

  test('takes flags before the environment before the file', () => {
    const env = {
      CONVOY_PORT: '1001',
      CONVOY_READERS: '7',
      CONVOY_MEMORY_BYTES_MAX: '256MB',
      CONVOY_ALLOWED_HOSTS: 'a, b',
      CONVOY_ID: '',
    };
    const config = parseInstanceConfig({
      file: { ...file, port: 1000, id: 'shard0' },
      env,
      flags: { port: '1002', id: undefined, verbosity: 'debug' },
    });
    expect(config).toMatchObject({
      port: 1002,
      readers: 7,
      memoryBytesMax: 256 * 2 ** 20,
      allowedHosts: ['a', 'b'],
      id: 'shard0',
      verbosity: 'DEBUG',
    });
  });

  test('has shard credentials by cluster, also from the environment', () => {
    const shards = { cluster0: { user: 'u', password: 'hidden' } };
    for (const sources of [{ file: { ...file, shards } }, { file, env: { CONVOY_SHARDS: JSON.stringify(shards) } }]) {
      const { cluster0 } = parseInstanceConfig(sources).shards;
      expect(cluster0).toMatchObject({ user: 'u', authSource: 'admin' });
      expect(cluster0?.password.reveal()).toBe('hidden');
    }
  });

  test('is frozen, and shows no secret when it is printed', () => {
    const config = parseInstanceConfig({ file: { ...file, token: 'hidden', redis: 'redis://:hidden@r:1' } });
    expect(() => Object.assign(config, { port: 1 })).toThrow(TypeError);
    expect(() => config.allowedHosts.push('x')).toThrow(TypeError);
    expect(JSON.stringify(config) + inspect(config, { depth: 9 })).not.toContain('hidden');
  });

  test('names every wrong value by its source', () => {
    const failure = failureOf({
      file: {
        cluster0: 'postgres://hidden',
        shards: { cluster2: {}, cluster1: { user: 1 } },
        allowedHosts: ['ok', 5],
        memoryBytesMax: '1 elephant',
        speed: 9,
      },
      env: { CONVOY_APPLY_WORKERS: 'many' },
      flags: { port: 70_000 },
    });
    expect(failure.error).toBe('invalidConfiguration');
    const problems = failure.errorDescription.split('; ').map((problem) => problem.split(':')[0]);
    expect(problems.sort()).toEqual(
      [
        '--port',
        'CONVOY_APPLY_WORKERS',
        'allowedHosts[1]',
        'cluster0',
        'cluster1',
        'memoryBytesMax',
        'shards.cluster1.password',
        'shards.cluster1.user',
        'shards.cluster2',
        'speed',
      ].sort(),
    );
    expect(failure.errorDescription).toContain('cluster1: is required: set it in the file of --config');
    expect(failure.errorDescription).toContain('speed: unknown setting');
  });

  test('refuses options of a connection string that the driver does not know', () => {
    expect(failureOf({ file: { ...file, cluster0: 'mongodb://a/?tlss=true' } }).errorDescription).toMatch(
      /^cluster0: has the option tlss, which/,
    );
  });

  test.each([
    'mongodb://u:p@ss@hidden/',
    'mongodb://u:p/ss@hidden/',
    'mongodb://u:p:ss@hidden/',
    'mongodb://u:p%ss@hidden/',
    'mongodb://u:p?ss@hidden/',
    'mongodb://u@x:p@hidden/db?tls=true',
  ])('hints at percent-encoding for %s, without quoting it', (cluster0) => {
    const { errorDescription } = failureOf({ file: { ...file, cluster0 } });
    expect(errorDescription).toBe(
      'cluster0: has special characters in user or password: percent-encode them, as %40 for @, %3A for :, ' +
        '%2F for / and %25 for %',
    );
  });

  test.each(['mongodb://u%40x:p%2Fs%25s@h/', 'mongodb://h/', 'mongodb+srv://u:p@c.example.net/?retryWrites=true'])(
    'takes %s',
    (cluster0) => {
      expect(parseInstanceConfig({ file: { ...file, cluster0 } }).cluster0.reveal()).toBe(cluster0);
    },
  );

  test('asks for a scheme', () => {
    expect(failureOf({ file: { ...file, cluster0: 'localhost:27017' } }).errorDescription).toBe(
      'cluster0: must begin with mongodb:// or mongodb+srv://',
    );
  });

  test('refuses another user than the sync user', () => {
    expect(parseInstanceConfig({ file: { ...file, syncUser: 'us@er' } }).syncUser).toBe('us@er');
    expect(failureOf({ file: { ...file, cluster1: 'mongodb://other@c', syncUser: 'us@er' } })).toMatchObject({
      error: 'syncUserMismatch',
    });
  });

  test('listens elsewhere only with a token or an explicit permission', () => {
    expect(failureOf({ file: { ...file, listen: '0.0.0.0' } }).errorDescription).toContain('listen');
    expect(parseInstanceConfig({ file: { ...file, listen: '0.0.0.0', token: 'x' } }).listen).toBe('0.0.0.0');
    expect(parseInstanceConfig({ file: { ...file, listen: '0.0.0.0', allowUnauthenticated: true } }).listen).toBe(
      '0.0.0.0',
    );
  });

  test('that is no object is refused', () => {
    for (const wrong of [null, [], 'text']) expect(failureOf({ file: wrong }).error).toBe('invalidConfiguration');
  });
});
