import { describe, expect, it } from 'vitest';
import { parseRedisSettings } from '../../../src/config/redis-config.js';

describe('parseRedisSettings', () => {
  it('reads a URL', () => {
    const settings = parseRedisSettings('rediss://al%40ice:p%3Aw@[::1]:7000/3');
    expect(settings.topology).toEqual({ kind: 'single', address: { host: '::1', port: 7_000 } });
    expect(settings).toMatchObject({ database: 3, tls: { allowInvalidCertificates: false }, keyPrefix: '' });
    expect([settings.username?.reveal(), settings.password?.reveal()]).toEqual(['al@ice', 'p:w']);
  });

  it('fills in the ports', () => {
    expect(parseRedisSettings('redis://h').topology).toEqual({ kind: 'single', address: { host: 'h', port: 6_379 } });
    expect(parseRedisSettings({ host: 'h' }).topology).toEqual({ kind: 'single', address: { host: 'h', port: 6_379 } });
    expect(parseRedisSettings({ nodes: [{ host: 'a' }, { host: 'b', port: 1 }] }).topology).toEqual({
      kind: 'cluster',
      nodes: [
        { host: 'a', port: 6_379 },
        { host: 'b', port: 1 },
      ],
    });
    expect(parseRedisSettings({ sentinels: [{ host: 'a' }], primaryName: 'main' }).topology).toMatchObject({
      kind: 'sentinel',
      sentinels: [{ host: 'a', port: 26_379 }],
      primaryName: 'main',
    });
  });

  it('lets an object extend its URL', () => {
    const settings = parseRedisSettings({
      url: 'redis://h/1',
      password: 'x',
      database: 2,
      tls: { caFile: '/ca.pem' },
      keyPrefix: 'p:',
    });
    expect(settings).toMatchObject({
      database: 2,
      keyPrefix: 'p:',
      tls: { caFile: '/ca.pem', allowInvalidCertificates: false },
    });
    expect(settings.password?.reveal()).toBe('x');
  });

  it.each<[unknown, string]>([
    [undefined, 'redis: is required'],
    [5, 'redis: must be a URL or an object'],
    ['http://h', 'redis.url: must be redis://'],
    ['redis://h/x', 'redis.url: must be redis://'],
    ['redis://', 'redis.url: must be redis://'],
    ['redis://h/?db=1', 'redis.url: must be redis://'],
    ['redis://%zz@h', 'redis.url: must be redis://'],
    [{}, 'redis: needs exactly one of'],
    [{ host: 'h', nodes: [{ host: 'a' }] }, 'redis: needs exactly one of'],
    [{ url: 'redis://h', port: 1 }, 'redis.port: is part of url'],
    [{ sentinels: [{ host: 'a' }] }, 'redis.primaryName: is required'],
    [{ sentinels: [{ host: 'a' }, {}], primaryName: 'm' }, 'redis.sentinels[1].host: is required'],
    [{ host: 'h', primaryName: 'm' }, 'redis.primaryName: is only for sentinels'],
    [{ nodes: [{ host: 'a' }], database: 1 }, 'redis.database: a Redis Cluster has only'],
    [{ host: 'h', keyPrefix: '{x}' }, 'redis.keyPrefix: must not contain braces'],
    [{ host: 'h', passwrod: 'x' }, 'passwrod'],
  ])('rejects %j', (value, problem) => {
    expect(() => parseRedisSettings(value)).toThrow(problem);
  });
});
