import { afterEach, describe, expect, it } from 'vitest';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { checkAccessSettings, logExposure } from '@convoy/api/http/access-guard';
import type { AccessSettings } from '@convoy/api/http/access-guard';
import { createHttpApp } from '@convoy/api/http/http-app';
import { RecordingService } from './recording-service.js';

const local: AccessSettings = { listen: '127.0.0.1', allowedHosts: [], allowUnauthenticated: false };
const elsewhere: AccessSettings = {
  listen: '0.0.0.0',
  allowedHosts: ['sync.example.com', 'other:8443'],
  token: 'correct',
  allowUnauthenticated: false,
};

const apps: FastifyInstance[] = [];

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

interface Call {
  readonly headers?: Record<string, string>;
  readonly remoteAddress?: string;
  readonly path?: string;
  readonly method?: 'GET' | 'POST';
}

async function call(
  access: AccessSettings,
  { headers = {}, remoteAddress = '127.0.0.1', path = '/api/v1/progress', method = 'GET' }: Call = {},
) {
  const app = await createHttpApp({ service: new RecordingService(), access, isReady: () => true });
  apps.push(app);
  return app.inject({ method, url: path, remoteAddress, headers: { host: '127.0.0.1:27182', ...headers } });
}

function expectRefused(reply: LightMyRequestResponse, status: number, error: string): void {
  expect({ status: reply.statusCode, body: reply.json<unknown>() }).toMatchObject({
    status,
    body: { success: false, error, errorDescription: expect.any(String) as string },
  });
}

describe('Host', () => {
  it.each(['127.0.0.1:27182', 'localhost:27182', 'localhost', '[::1]:9'])(
    'of the local host is allowed: %s',
    async (host) => {
      expect((await call(local, { headers: { host } })).statusCode).toBe(200);
    },
  );

  it.each([
    'evil.example',
    'evil.example:27182',
    '127.0.0.1.evil.example',
    '169.254.1.1:27182',
    'localhost@evil.example',
  ])('of anybody else is refused: %j', async (host) => {
    expectRefused(await call(local, { headers: { host } }), 403, 'hostNotAllowed');
  });

  it('in allowedHosts is allowed at any port, or at the listed one', async () => {
    const headers = { authorization: 'Bearer correct' };
    for (const [host, status] of [
      ['sync.example.com', 200],
      ['SYNC.example.com:9', 200],
      ['other:8443', 200],
      ['other:1', 403],
    ] as const) {
      expect((await call(elsewhere, { headers: { ...headers, host } })).statusCode).toBe(status);
    }
  });
});

describe('Origin', () => {
  it("that is the service's own is allowed", async () => {
    expect((await call(local, { headers: { origin: 'http://127.0.0.1:27182' } })).statusCode).toBe(200);
  });

  it.each([
    'http://evil.example',
    'null',
    'http://127.0.0.1:3000',
    'http://localhost:27182',
    'http://127.0.0.1:27182.evil.example',
    'file://',
    '',
  ])('of another page is refused: %j', async (origin) => {
    expectRefused(await call(local, { headers: { origin } }), 403, 'originNotAllowed');
  });

  it('in allowedHosts is allowed', async () => {
    const headers = { authorization: 'Bearer correct', origin: 'https://sync.example.com' };
    expect((await call(elsewhere, { headers })).statusCode).toBe(200);
  });
});

describe('credential', () => {
  it('is not asked for on the local host', async () => {
    expect((await call(local)).statusCode).toBe(200);
  });

  it.each(['Bearer correct', 'bearer  correct', 'BEARER correct '])(
    'is the bearer token: %j',
    async (authorization) => {
      expect((await call(elsewhere, { headers: { authorization }, remoteAddress: '10.1.1.1' })).statusCode).toBe(200);
    },
  );

  it.each(['', 'Bearer wrong', 'Bearer', 'Bearer correct x', 'Basic correct', 'correct', 'Bearer correctcorrect'])(
    'that is wrong or missing is refused: %j',
    async (authorization) => {
      const reply = await call(elsewhere, { headers: authorization === '' ? {} : { authorization } });
      expectRefused(reply, 401, 'unauthorized');
      expect(reply.headers['www-authenticate']).toBe('Bearer');
    },
  );

  it('is needed for unknown paths too', async () => {
    expectRefused(await call(elsewhere, { path: '/unknown' }), 401, 'unauthorized');
  });

  it('is not needed for the health paths, whatever the Host', async () => {
    for (const path of ['/healthz', '/readyz']) {
      const reply = await call(elsewhere, { path, headers: { host: '10.0.0.7:27182' }, remoteAddress: '10.1.1.1' });
      expect(reply.json()).toEqual({ success: true });
    }
  });

  it('is not asked for anywhere with allowUnauthenticated', async () => {
    const open = { ...elsewhere, token: undefined, allowUnauthenticated: true };
    expect((await call(open, { remoteAddress: '10.1.1.1' })).statusCode).toBe(200);
  });

  it('rejects remote callers without a token and without allowUnauthenticated', async () => {
    expectRefused(await call(local, { remoteAddress: '10.1.1.1' }), 401, 'unauthorized');
  });
});

describe('settings', () => {
  it.each(['127.0.0.1', 'localhost', '::1'])('%s needs nothing', (listen) => {
    expect(() => checkAccessSettings({ ...local, listen })).not.toThrow();
  });

  it.each(['0.0.0.0', '::', 'sync.example.com', '10.0.0.1'])('%s needs a token or allowUnauthenticated', (listen) => {
    expect(() => checkAccessSettings({ ...local, listen })).toThrow(ConvoyError);
    expect(() => checkAccessSettings({ ...local, listen, token: 'x' })).not.toThrow();
    expect(() => checkAccessSettings({ ...local, listen, allowUnauthenticated: true })).not.toThrow();
  });

  it('beyond the local host are enough with a CA for client certificates, and not with TLS alone', () => {
    const tls = { certFile: 'a', keyFile: 'b' };
    const beyond = { ...local, listen: '0.0.0.0' };
    expect(() => checkAccessSettings({ ...beyond, tls })).toThrow(ConvoyError);
    expect(() => checkAccessSettings({ ...beyond, tls: { ...tls, clientCaFile: 'c' } })).not.toThrow();
  });

  it.each([
    [local, []],
    [{ ...elsewhere, tls: { certFile: 'a', keyFile: 'b' } }, []],
    [elsewhere, ['apiNotEncrypted']],
    [{ ...elsewhere, token: undefined, allowUnauthenticated: true }, ['apiUnprotected', 'apiNotEncrypted']],
  ])('log what they expose: %j', (access, events) => {
    const seen: unknown[] = [];
    const warn = (entry: unknown): void => void seen.push((entry as { event: string }).event);
    logExposure(access, { warn });
    expect(seen).toEqual(events);
  });

  it('refuses an empty token', () => {
    expect(() => checkAccessSettings({ ...elsewhere, token: '' })).toThrow(
      'invalidConfiguration: token: must not be empty',
    );
  });
});

describe('a read-only token', () => {
  const access = { ...elsewhere, viewToken: 'looking' };
  const looking = { host: 'sync.example.com', authorization: 'Bearer looking' };

  it('reads and cannot send commands', async () => {
    expect((await call(access, { headers: looking })).statusCode).toBe(200);
    expectRefused(
      await call(access, { headers: looking, method: 'POST', path: '/api/v1/pause' }),
      403,
      'readOnlyToken',
    );
  });

  it('does not change the other token, and admits no other', async () => {
    expect(
      (
        await call(access, {
          headers: { ...looking, authorization: 'Bearer correct' },
          method: 'POST',
          path: '/api/v1/pause',
        })
      ).statusCode,
    ).toBe(200);
    expectRefused(
      await call(access, { headers: { ...looking, authorization: 'Bearer guessed' } }),
      401,
      'unauthorized',
    );
  });

  it('needs a different token that may send commands', () => {
    expect(() => checkAccessSettings({ ...local, viewToken: 'looking' })).toThrow(ConvoyError);
    expect(() => checkAccessSettings({ ...elsewhere, viewToken: 'correct' })).toThrow(ConvoyError);
  });
});

describe('a command that a browser was made to send', () => {
  it.each([
    ['cross-site', 403],
    ['same-site', 403],
    ['same-origin', 200],
    ['none', 200],
  ])('from %s: %d', async (site, status) => {
    const headers = { 'sec-fetch-site': site };
    expect((await call(local, { headers, method: 'POST', path: '/api/v1/pause' })).statusCode).toBe(status);
    expect((await call(local, { headers })).statusCode).toBe(200);
  });
});

describe('paths that show nothing', () => {
  it('need no token, and the Host and Origin of the service all the same', async () => {
    const access = { ...elsewhere, openPrefixes: ['/api/v1/openapi'] };
    const path = '/api/v1/openapi.json';
    expect((await call(access, { headers: { host: 'sync.example.com' }, path })).statusCode).toBe(200);
    expectRefused(await call(access, { headers: { host: 'evil.example' }, path }), 403, 'hostNotAllowed');
    expectRefused(await call(access, { headers: { host: 'sync.example.com' } }), 401, 'unauthorized');
  });
});
