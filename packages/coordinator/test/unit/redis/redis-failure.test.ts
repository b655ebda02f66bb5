import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { callRedis, redisFailureReason, redisFailureText } from '../../../src/redis/redis-failure.js';

describe('redisFailureReason', () => {
  it('uses only codes', () => {
    expect(redisFailureReason(Object.assign(new Error('connect 10.0.0.1:6379'), { code: 'ECONNREFUSED' }))).toBe(
      'ECONNREFUSED',
    );
    expect(redisFailureReason(new Error('WRONGPASS invalid username-password pair for alice'))).toBe('WRONGPASS');
    expect(redisFailureReason(new Error('something with s3cret'))).toBe('Error');
    expect(redisFailureReason('s3cret')).toBe('unknown');
  });
});

describe('redisFailureText', () => {
  const coded = (code: string): Error => Object.assign(new Error('connect 10.0.0.1:6379'), { code });

  it.each([
    [
      coded('ECONNREFUSED'),
      'the connection was refused (ECONNREFUSED). Check host and port in the URL of Redis, and that Redis runs and ' +
        'listens there.',
    ],
    [
      coded('ENOTFOUND'),
      'the host name is unknown (ENOTFOUND). Check the host name in the URL of Redis, and the DNS of this machine.',
    ],
    [
      coded('ECONNRESET'),
      'the connection was closed during the handshake (ECONNRESET). Use rediss:// if Redis requires TLS on this ' +
        'port, and redis:// if it has none.',
    ],
    [
      coded('DEPTH_ZERO_SELF_SIGNED_CERT'),
      'the certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT). Name the authority that signed it as ' +
        'redis.tls.caFile.',
    ],
    [
      new Error('WRONGPASS invalid username-password pair for alice'),
      'Redis refused user or password (WRONGPASS). Correct user and password in the URL of Redis; percent-encode ' +
        '@ : / ? # [ ] and % of a password, as %40 for @.',
    ],
    [new Error('NOAUTH Authentication required.'), 'Redis requires a password (NOAUTH). Add it to the URL of Redis.'],
    [
      Object.assign(new Error('Protocol error, got "H" as reply type byte'), { name: 'ParserError' }),
      'the server does not speak the protocol of Redis (ParserError). Check that the port is that of Redis.',
    ],
  ])('names cause and remedy, and no address: %s', (error, text) => {
    expect(redisFailureText(error)).toBe(text);
  });
});

describe('callRedis', () => {
  it('returns the reply', async () => {
    expect(await callRedis(Promise.resolve(5), 1_000)).toBe(5);
  });

  it('converts a failure to a named one', async () => {
    const failure = callRedis(Promise.reject(new Error('NOAUTH Authentication required.')), 1_000);
    await expect(failure).rejects.toMatchObject({
      error: 'redisUnavailable',
      errorDescription: expect.stringContaining('NOAUTH') as string,
    });
    const named = new ConvoyError('identityTaken');
    await expect(callRedis(Promise.reject(named), 1_000)).rejects.toBe(named);
  });

  it('does not wait longer than the limit', async () => {
    await expect(callRedis(new Promise(() => undefined), 5)).rejects.toMatchObject({ error: 'redisUnavailable' });
  });

  it('accepts a reply that arrived while the process was stopped', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [socket] = (await once(server, 'connection')) as [Socket];
    const call = callRedis(once(client, 'data'), 5);
    socket.end('reply');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    expect(String(await call)).toBe('reply');
    server.close();
  });

  it('keeps the reason of a named failure', async () => {
    const failure: unknown = await callRedis(Promise.reject(new Error('LOADING x')), 1_000).catch(
      (error: unknown) => error,
    );
    expect(redisFailureReason(failure)).toBe('LOADING');
    expect(redisFailureReason(new ConvoyError('identityTaken'))).toBe('identityTaken');
  });
});
