import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { only } from '../../../../../test/only.js';
import type { FleetConsole } from '../../../src/director/fleet-console.js';
import type { FleetDirector } from '../../../src/director/fleet-director.js';
import { createCoordinatorApp } from '../../../src/server/coordinator-app.js';

const director = only<FleetDirector>({
  watch: () => () => undefined,
  fleet: only<FleetConsole>({ isConnected: () => true }),
});
let app: FastifyInstance;

beforeAll(async () => {
  const access = { listen: '127.0.0.1', allowedHosts: [], allowUnauthenticated: false };
  app = await createCoordinatorApp({ director, access, logger: pino({ enabled: false }) });
  await app.listen({ host: '127.0.0.1', port: 0 });
});

afterAll(() => app.close());

/** Requests a path exactly as written; clients of the platform would normalise it. */
async function ask(path: string, header = ''): Promise<{ status: string | undefined; body: string }> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(Buffer.from(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${header}\r\n`, 'latin1'));
  const reply = await text(socket);
  return { status: /^HTTP\/1\.1 (\d+)/.exec(reply)?.[1], body: reply.slice(reply.indexOf('\r\n\r\n') + 4) };
}

const outlierNames = [
  ...[
    '',
    '.',
    '..',
    '../x',
    '%2e%2e/x',
    '..%2fx',
    '%2e%2e%2fx',
    '..\\x',
    '..%5cx',
    '%2e%2e/%2e%2e/package.json',
    '/etc/passwd',
  ],
  ...['%00', 'a%00b', '%25', '.env', '__proto__', 'style.css/', 'style.css/x', 'a'.repeat(300), 'a/'.repeat(3_000)],
];
const besideTheApi = ['progress/../x', '/progress', 'progress%00', '%2fprogress', '..%2fv1%2fprogress', 'progress\\'];

/** Replies for each path below a prefix, without the expected ones. */
async function otherAnswers(prefix: string, names: readonly string[], expected: string): Promise<unknown[]> {
  const answers = await Promise.all(names.map(async (name) => ({ name, ...(await ask(prefix + name)) })));
  return answers
    .map(({ name, status, body }) => ({ name, answer: `${status} ${(JSON.parse(body) as { error: string }).error}` }))
    .filter(({ answer }) => answer !== expected);
}

it.each(['/dashboard/', '/dashboard/modules/', '/dashboard/charts/'])(
  'below %s a path without a file is unknown',
  async (prefix) => {
    expect(await otherAnswers(prefix, outlierNames, '404 unknownPath')).toEqual([]);
  },
);

it('a path outside the API is unknown', async () => {
  expect(await otherAnswers('/api/v1/', besideTheApi, '404 unknownPath')).toEqual([]);
});

it.each(['/', '/dashboard/', '/api/v1/'])('below %s an undecodable path is rejected', async (prefix) => {
  expect(await otherAnswers(prefix, ['%', '%zz', '%ff', '\u00e9'], '400 invalidHttpRequest')).toEqual([]);
});

it("other rejections of the file server are the request's fault", async () => {
  const { status, body } = await ask('/dashboard/style.css', 'Range: bytes=99999999-\r\n');
  expect({ status, body: JSON.parse(body) as unknown }).toMatchObject({
    status: '400',
    body: { error: 'invalidHttpRequest' },
  });
});

it('serves the page and its files', async () => {
  const files = ['dashboard.html', 'style.css', 'inter.woff2', 'charts/uPlot.esm.js'];
  for (const path of ['/', ...files.map((file) => `/dashboard/${file}`)]) expect((await ask(path)).status).toBe('200');
});
