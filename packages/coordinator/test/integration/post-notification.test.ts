import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Secret } from '@convoy/api/configuration/secret';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { testNotification } from '../../src/notifications/notification.js';
import { type Outcome, postNotification, type Receiver } from '../../src/notifications/post-notification.js';
import { NotificationReceiver, receiverSecret } from './notification-receiver.js';

const settings = { lag: { raise_seconds: 2, clear_seconds: 1 }, oplog: { raise_seconds: 1, clear_seconds: 2 } };
const now_ms = Date.UTC(2026, 0, 1);

function post(url: string, changes: Partial<Receiver> = {}, limit_ms?: number): Promise<Outcome> {
  const receiver = {
    name: 'pager',
    url: new Secret(url),
    secret: new Secret(receiverSecret),
    ca: undefined,
    events: [],
  };
  const notification = testNotification({ fleet: 'shop', settings }, 'an id', now_ms);
  return postNotification({ ...receiver, ...changes }, notification, now_ms, new AbortController().signal, limit_ms);
}

describe('an attempt to send a notification', () => {
  let server: NotificationReceiver;
  beforeAll(async () => {
    server = await NotificationReceiver.start();
  });
  afterAll(() => server.close());
  afterEach(() => {
    server.arrivals.length = 0;
    server.answer = (response) => void response.writeHead(204).end();
  });

  const answers = (status: number, headers: Record<string, string> = {}): void => {
    server.answer = (response) => void response.writeHead(status, headers).end();
  };

  it('arrives signed, with its id, its event and its body', async () => {
    expect(await post(server.url)).toEqual({ result: 'sent', reason: 'HTTP 204' });
    expect(server.arrivals).toMatchObject([
      {
        path: '/hook',
        event: 'test',
        delivery: 'an id',
        isSigned: true,
        body: { id: 'an id', event: 'test', fleet: 'shop', time: '2026-01-01T00:00:00.000Z', dashboard: null },
      },
    ]);
  });

  it('is signed with the secret of its receiver', async () => {
    await post(server.url, { secret: new Secret('another secret of the tests') });
    expect(server.arrivals).toMatchObject([{ isSigned: false }]);
  });

  it.each([200, 201, 202])('is sent with %i', async (status) => {
    answers(status);
    expect(await post(server.url)).toEqual({ result: 'sent', reason: `HTTP ${status}` });
  });

  it.each([400, 401, 403, 404, 410, 422])('is refused with %i', async (status) => {
    answers(status);
    expect(await post(server.url)).toEqual({ result: 'refused', reason: `HTTP ${status}` });
  });

  it.each([408, 429, 500, 502, 503])('is repeated after %i', async (status) => {
    answers(status);
    expect(await post(server.url)).toEqual({ result: 'retry', reason: `HTTP ${status}`, after_ms: 0 });
  });

  it.each([
    ['7', 7_000],
    ['Thu, 01 Jan 2026 00:01:30 GMT', 90_000],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
    ['soon', 0],
  ])('is repeated when the receiver asks for it: %s', async (pause, after_ms) => {
    answers(429, { 'retry-after': pause });
    expect(await post(server.url)).toEqual({ result: 'retry', reason: 'HTTP 429', after_ms });
  });

  it('follows no redirect, neither to another host nor to the same', async () => {
    const other = await NotificationReceiver.start();
    for (const location of [other.url, '/elsewhere']) {
      answers(307, { location });
      expect(await post(server.url)).toEqual({ result: 'refused', reason: 'HTTP 307' });
    }
    expect(other.arrivals).toEqual([]);
    expect(server.arrivals.map(({ path }) => path)).toEqual(['/hook', '/hook']);
    other.close();
  });

  it('closes the connection of a body without an end', async () => {
    const closed = new Promise<void>((resolve) => {
      server.answer = (response) => {
        response.on('close', resolve).on('error', () => undefined);
        response.writeHead(200);
        const write = (): void => {
          while (!response.destroyed && response.write('x'.repeat(16_384)));
        };
        response.on('drain', write);
        write();
      };
    });
    expect(await post(server.url)).toEqual({ result: 'sent', reason: 'HTTP 200' });
    await closed;
  });

  it('ends after its time limit at a receiver that hangs', async () => {
    const hanging: ServerResponse[] = [];
    server.answer = (response) => void hanging.push(response);
    expect(await post(server.url, {}, 3_000)).toEqual({ result: 'retry', reason: 'ETIMEDOUT', after_ms: 0 });
    expect(hanging).toHaveLength(1);
  });

  it('is repeated when nobody listens, or the name is unknown', async () => {
    const former = await NotificationReceiver.start();
    const { url } = former;
    former.close();
    expect(await post(url)).toEqual({ result: 'retry', reason: 'ECONNREFUSED', after_ms: 0 });
    expect(await post('http://nobody.invalid/')).toMatchObject({
      result: 'retry',
      reason: expect.stringMatching(/^E/) as unknown,
    });
  });

  it('trusts the certificate authority of its receiver alone', async () => {
    using folder = ScratchFolder.create('test');
    const [keyFile, certFile] = [folder.file('key.pem'), folder.file('cert.pem')];
    const subject = ['-subj', '/CN=Receiver', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
    execFileSync('openssl', ['req', '-x509', ...newKey, '-out', certFile, '-days', '2', ...subject], {
      stdio: 'ignore',
    });
    const [key, cert] = [readFileSync(keyFile, 'utf8'), readFileSync(certFile, 'utf8')];
    const secure = await NotificationReceiver.start({ key, cert });
    expect(await post(secure.url, { ca: Buffer.from(cert) })).toEqual({ result: 'sent', reason: 'HTTP 204' });
    expect(await post(secure.url)).toEqual({ result: 'retry', reason: 'DEPTH_ZERO_SELF_SIGNED_CERT', after_ms: 0 });
    secure.close();
  });
});
