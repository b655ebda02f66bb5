import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import type { ConnectionLimits } from '../../../src/http/connections.js';
import type { Acceptance } from '../../../src/http/contract-routes.js';
import { createHttpApp } from '../../../src/http/http-app.js';
import { RecordingService } from './recording-service.js';

const CONNECTIONS_MAX = 8;
const head = 'POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\n';
/** An incomplete request: nothing, a part of its head, a part of its body. */
const halves = ['', head, `${head}Content-Length: 20\r\n\r\n{`];

let app: FastifyInstance | undefined;
let accepted: Socket[];
const clients: Socket[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await app?.close();
});

async function listen(
  limits: Partial<ConnectionLimits>,
  token?: string,
  service = new RecordingService(),
): Promise<FastifyInstance> {
  const access = { listen: '127.0.0.1', allowedHosts: [], allowUnauthenticated: false, token };
  app = await createHttpApp({ service, access, isReady: () => true, limits });
  accepted = [];
  app.server.on('connection', (socket) => accepted.push(socket));
  await app.listen({ host: '127.0.0.1', port: 0 });
  return app;
}

/** A client that sends these bytes and never closes its side. */
async function send(bytes: string): Promise<Socket> {
  const { port } = app?.server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  clients.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  if (bytes !== '') socket.write(bytes);
  return socket;
}

async function get(path: string): Promise<string> {
  const socket = connect((app?.server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  return text(socket);
}

describe.each(halves)('more half-sent requests than the connection limit (%j)', (half) => {
  it.each([undefined, 'secret'])('do not block replies to others, with token %s', async (token) => {
    await listen({ connectionsMax: CONNECTIONS_MAX }, token);
    await Promise.all(Array.from({ length: 4 * CONNECTIONS_MAX }, () => send(half)));
    expect(await get('/healthz')).toMatch(/^HTTP\/1\.1 200 /);
    await expect.poll(() => accepted.filter((socket) => !socket.destroyed).length).toBeLessThanOrEqual(CONNECTIONS_MAX);
  });

  it('are closed at their time limit, even if the client keeps its side open', async () => {
    await listen({ headersTimeout_ms: 20, requestTimeout_ms: 40, checkInterval_ms: 10, linger_ms: 10 });
    await Promise.all(Array.from({ length: CONNECTIONS_MAX }, () => send(half)));
    await expect.poll(() => accepted.filter((socket) => socket.destroyed).length).toBe(CONNECTIONS_MAX);
  });

  it('do not keep the server from closing', async () => {
    const server = await listen({});
    await send(half);
    await expect.poll(() => accepted.length).toBe(1);
    await server.close();
    expect(server.server.listening).toBe(false);
  });
});

it('a connection with an outstanding reply does not make room for others', async () => {
  let answer: () => void = () => undefined;
  const service = new RecordingService();
  const released = new Promise<Acceptance>((resolve) => (answer = () => resolve({})));
  service.pause = () => released;
  await listen({ connectionsMax: 2 }, undefined, service);
  const slow = await send(`${head}Content-Length: 2\r\nConnection: close\r\n\r\n{}`);
  const answered = text(slow);
  await expect.poll(() => accepted.length).toBe(1);
  for (let count = 0; count < 4; count += 1) await send(head);
  expect(await get('/healthz')).toMatch(/^HTTP\/1\.1 200 /);
  answer();
  expect(await answered).toMatch(/^HTTP\/1\.1 200 /);
});
