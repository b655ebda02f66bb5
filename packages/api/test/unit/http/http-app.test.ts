import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createHttpApp } from '@convoy/api/http/http-app';
import { RecordingService } from './recording-service.js';

let app: FastifyInstance;
let ready: boolean;

beforeEach(async () => {
  ready = true;
  app = await createHttpApp({
    service: new RecordingService(),
    access: { listen: '127.0.0.1', allowedHosts: [], allowUnauthenticated: false },
    isReady: () => ready,
  });
});

afterEach(async () => {
  await app.close();
});

/** Sends bytes to the listening server and returns its whole response once it closes the connection. */
async function exchange(bytes: string): Promise<string> {
  await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(bytes);
  return text(socket);
}

describe('health', () => {
  it('/healthz replies while the process is alive', async () => {
    ready = false;
    expect((await app.inject('/healthz')).json()).toEqual({ success: true });
  });

  it('/readyz is 503 until the service accepts commands', async () => {
    ready = false;
    const waiting = await app.inject('/readyz');
    expect({ status: waiting.statusCode, body: waiting.json<unknown>() }).toMatchObject({
      status: 503,
      body: { error: 'notReady' },
    });
    ready = true;
    expect((await app.inject('/readyz')).json()).toEqual({ success: true });
  });
});

describe('malformed HTTP requests', () => {
  it.each([
    'nonsense\r\n\r\n',
    'GET /api/v1/progress HTTP/1.1\r\n\r\n',
    `GET /api/v1/progress HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(64 * 1024)}\r\n\r\n`,
    'POST /api/v1/start HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n',
  ])('get a JSON failure body where HTTP allows one: %#', async (bytes) => {
    const reply = await exchange(bytes);
    expect(reply).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('get the failure shape on a bare connection', async () => {
    const reply = await exchange('nonsense\r\n\r\n');
    expect(JSON.parse(reply.slice(reply.indexOf('\r\n\r\n')))).toMatchObject({
      success: false,
      error: 'invalidHttpRequest',
    });
  });

  it('get the failure shape for a path that cannot be decoded', async () => {
    const reply = await app.inject('/%zz');
    expect({ status: reply.statusCode, body: reply.json<unknown>() }).toMatchObject({
      status: 400,
      body: { success: false, error: 'invalidHttpRequest' },
    });
  });
});

describe('over a connection', () => {
  it('answers with and without Content-Type', async () => {
    const request =
      'POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}';
    expect(await exchange(request)).toMatch(/^HTTP\/1\.1 200 [^]*\{"success":true\}$/);
  });

  it('refuses a request without Host', async () => {
    expect(await exchange('GET /api/v1/progress HTTP/1.0\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 403 [^]*"error":"hostNotAllowed"/,
    );
  });

  it('reads chunked bodies up to the limit', async () => {
    const chunk = 'x'.repeat(0x10000);
    const request =
      `POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: ` +
      `chunked\r\n\r\n${`10000\r\n${chunk}\r\n`.repeat(17)}0\r\n\r\n`;
    expect(await exchange(request)).toMatch(/^HTTP\/1\.1 413 [^]*"error":"bodyTooLarge"/);
  });
});

describe('while it closes', () => {
  it('refuses with the failure shape', async () => {
    let reply: Response | undefined;
    app.addHook('preClose', async () => {
      reply = await fetch(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}/api/v1/progress`);
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    await app.close();
    expect(reply?.status).toBe(503);
    expect(await reply?.json()).toMatchObject({ success: false, error: 'shuttingDown' });
  });
});
