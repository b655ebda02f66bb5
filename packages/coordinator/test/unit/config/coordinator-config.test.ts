import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { SettingSources } from '@convoy/api/configuration/setting-sources';
import { parseCoordinatorConfig } from '../../../src/config/coordinator-config.js';

const redis = 'redis://localhost';

function problemsOf(sources: SettingSources): string {
  try {
    parseCoordinatorConfig(sources);
  } catch (error) {
    if (error instanceof ConvoyError && error.error === 'invalidConfiguration') return error.errorDescription;
    throw error;
  }
  throw new Error('the configuration was accepted');
}

describe('parseCoordinatorConfig', () => {
  it('fills in the defaults and freezes', () => {
    const config = parseCoordinatorConfig({ file: { redis } });
    expect(config).toMatchObject({
      fleet: 'default',
      port: 27_180,
      listen: '127.0.0.1',
      allowedHosts: [],
      allowUnauthenticated: false,
      verbosity: 'INFO',
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('lets flags override the environment, and the environment the file', () => {
    const file = { redis, fleet: 'of-file', port: 1, verbosity: 'ERROR' };
    const env = {
      CONVOY_FLEET: 'of-env',
      CONVOY_PORT: '2',
      CONVOY_ALLOWED_HOSTS: 'a, b:1',
      CONVOY_UNRELATED: 'x',
      CONVOY_TOKEN: '',
    };
    const config = parseCoordinatorConfig({ file, env, flags: { port: 3, fleet: undefined, verbosity: 'debug' } });
    expect(config).toMatchObject({ fleet: 'of-env', port: 3, allowedHosts: ['a', 'b:1'], verbosity: 'DEBUG' });
    expect(config.token).toBeUndefined();
  });

  it('names every invalid value by its origin', () => {
    const sources = {
      file: { redis, fleet: 'a b', foo: 1 },
      env: { CONVOY_PORT: 'many' },
      flags: { verbosity: 'LOUD' },
    };
    const problems = problemsOf(sources);
    for (const origin of ['fleet: must be', 'foo: unknown setting', 'CONVOY_PORT: ', '--verbosity: '])
      expect(problems).toContain(origin);
    expect(problemsOf({})).toBe('redis: is required');
    expect(problemsOf({ file: [] })).toContain('one object of settings');
  });

  it.each([
    ['0', '65536', '-1', '1e3'],
    ['yes', '1'],
  ])('converts only valid numbers and booleans of the environment', (...texts) => {
    for (const text of texts.filter((one) => one !== '0')) {
      expect(problemsOf({ file: { redis }, env: { CONVOY_PORT: text, CONVOY_ALLOW_UNAUTHENTICATED: text } })).toContain(
        'CONVOY_ALLOW_UNAUTHENTICATED',
      );
    }
  });

  it('rejects listening for everybody without an explicit setting', () => {
    expect(problemsOf({ file: { redis, listen: '0.0.0.0' } })).toContain('listen: ');
    expect(parseCoordinatorConfig({ file: { redis, listen: '0.0.0.0', token: 'secret' } }).listen).toBe('0.0.0.0');
    expect(parseCoordinatorConfig({ file: { redis, listen: '0.0.0.0', allowUnauthenticated: true } }).listen).toBe(
      '0.0.0.0',
    );
  });

  it('shows no secret, neither in the configuration nor in an error', () => {
    const url = 'redis://alice:s3cret@localhost:1/2';
    const config = parseCoordinatorConfig({ file: { redis: url, token: 't0ken' } });
    for (const text of [JSON.stringify(config), inspect(config, { depth: 10 }), String(config.token)]) {
      for (const secret of ['alice', 's3cret', 't0ken']) expect(text).not.toContain(secret);
    }
    expect(config.token?.reveal()).toBe('t0ken');
    for (const wrong of [`${url}/x`, { url: `${url}?y`, host: 'z' }, { host: 'h', password: ['s3cret'] }, 's3cret@']) {
      expect(problemsOf({ file: { redis: wrong, token: 't0 ken' } })).not.toMatch(/alice|s3cret|t0 ken/);
    }
  });
});
