import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectPlain, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect, Server, type TLSSocket } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ContractClient } from '@convoy/api/client/contract-client';
import type { ClientTrust } from '@convoy/api/client/exchange-json';
import { createHttpApp } from '@convoy/api/http/http-app';
import { ServerCertificate } from '@convoy/api/http/server-certificate';
import { RecordingService } from './recording-service.js';
import { hasOpenssl, TestAuthority } from './test-authority.js';

const read = (path: string): string => readFileSync(path, 'utf8');

describe.skipIf(!hasOpenssl)(hasOpenssl ? 'TLS of the API' : 'TLS of the API needs openssl', () => {
  let authority: TestAuthority;
  let app: FastifyInstance | undefined;
  beforeAll(() => {
    authority = new TestAuthority();
  });
  afterEach(async () => {
    await app?.close();
    app = undefined;
  });
  afterAll(() => authority[Symbol.dispose]());

  /** A log, as the names of its events. */
  function events() {
    const seen: string[] = [];
    const log = (entry: unknown): void => void seen.push((entry as { event: string }).event);
    return { seen, logger: { info: log, warn: log } };
  }

  async function serve(tls: { certFile: string; keyFile: string; clientCaFile?: string }): Promise<string> {
    const access = { listen: '127.0.0.1', allowedHosts: [], allowUnauthenticated: false, tls };
    app = await createHttpApp({ service: new RecordingService(), access, isReady: () => true });
    return app.listen({ host: '127.0.0.1', port: 0 });
  }

  const call = (url: string, trust?: ClientTrust): Promise<unknown> =>
    new ContractClient(url, trust === undefined ? {} : { trust }).progress();

  function tlsServer(): Server {
    const server: unknown = app?.server;
    if (!(server instanceof Server)) throw new Error('the API has TLS');
    return server;
  }

  function portOf(): number {
    return (app?.server.address() as AddressInfo).port;
  }

  function connectTls(options: object): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: portOf(), ca: read(authority.caFile), ...options });
      socket.once('secureConnect', () => resolve(socket)).once('error', reject);
    });
  }

  it('serves clients that name its CA, by TLS 1.2 and later', async () => {
    const url = await serve(authority.issue('server'));
    expect(url).toMatch(/^https:/);
    await expect(call(url, { ca: read(authority.caFile) })).resolves.toMatchObject({ success: true });
    await expect(connectTls({ maxVersion: 'TLSv1.1', minVersion: 'TLSv1' })).rejects.toThrow();
    const old = await connectTls({ maxVersion: 'TLSv1.2' });
    expect(old.getProtocol()).toBe('TLSv1.2');
    old.destroy();
  });

  it('says why a client does not connect', async () => {
    const url = await serve(authority.issue('server'));
    await expect(call(url)).rejects.toMatchObject({
      error: 'tlsFailed',
      errorDescription:
        'The certificate of the service is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE). ' +
        'Name its CA with --ca-file or CONVOY_CA_FILE.',
    });
    const expired = authority.issue('expired', { days: -1 });
    tlsServer().setSecureContext({
      cert: read(expired.certFile),
      key: read(expired.keyFile),
    });
    await expect(call(url, { ca: read(authority.caFile) })).rejects.toMatchObject({
      errorDescription: 'The certificate of the service has expired. Renew it.',
    });
  });

  it('says that a service has no TLS', async () => {
    const access = { listen: '127.0.0.1', allowedHosts: [], allowUnauthenticated: false };
    app = await createHttpApp({ service: new RecordingService(), access, isReady: () => true });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    await expect(call(url.replace('http:', 'https:'))).rejects.toMatchObject({
      errorDescription:
        'The service does not answer by TLS as this client does. If it has no TLS, set its address with http://.',
    });
  });

  it('answers no request without TLS', async () => {
    const url = await serve(authority.issue('server'));
    await expect(call(url.replace('https:', 'http:'))).rejects.toMatchObject({
      error: 'instanceUnreachable',
      errorDescription: expect.stringMatching(
        /closed the connection before it replied\..* If the service uses TLS, set its address with https:\/\/\.$/,
      ) as string,
    });
    const socket = connectPlain(portOf(), '127.0.0.1');
    socket.write('GET /api/v1/progress HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(await text(socket)).not.toContain('200 OK');
  });

  it('asks for a client certificate of its CA, but not on health paths', async () => {
    const url = await serve({ ...authority.issue('server'), clientCaFile: authority.caFile });
    const ca = read(authority.caFile);
    await expect(call(url, { ca })).rejects.toMatchObject({
      error: 'unauthorized',
      errorDescription: 'The request needs a client certificate that the CA of this service signed.',
    });
    const own = authority.issue('client');
    const client = { ca, cert: read(own.certFile), key: read(own.keyFile) };
    await expect(call(url, client)).resolves.toMatchObject({ success: true });
    using other = new TestAuthority();
    const foreign = other.issue('client');
    await expect(call(url, { ca, cert: read(foreign.certFile), key: read(foreign.keyFile) })).rejects.toMatchObject({
      error: 'unauthorized',
    });
    const probe = await connectTls({});
    probe.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    expect(await text(probe)).toContain('200 OK');
  });

  it('closes while a handshake is not complete', async () => {
    await serve(authority.issue('server'));
    const accepted = new Promise((resolve) => app?.server.once('connection', resolve));
    const silent = connectPlain(portOf(), '127.0.0.1').on('error', () => undefined);
    const ended = new Promise((resolve) => silent.once('close', resolve));
    await accepted;
    await app?.close();
    app = undefined;
    await ended;
  });

  it('uses a renewed certificate, and keeps the former one while the files are unusable', () => {
    const files = authority.issue('renewed');
    const { seen, logger } = events();
    const certificate = new ServerCertificate(files, logger);
    const taken: unknown[] = [];
    const server = { setSecureContext: (options: unknown) => void taken.push(options) };
    certificate.renew(server);
    expect(taken).toHaveLength(0);
    writeFileSync(files.keyFile, 'half a ke');
    certificate.renew(server);
    certificate.renew(server);
    expect({ taken: taken.length, seen }).toEqual({
      taken: 0,
      seen: ['certificateExpiresSoon', 'certificateNotRenewed'],
    });
    authority.issue('renewed');
    certificate.renew(server);
    expect(taken).toEqual([expect.objectContaining({ cert: read(files.certFile), key: read(files.keyFile) })]);
    expect(seen.slice(2)).toEqual(['certificateRenewed', 'certificateExpiresSoon']);
  });

  it('gives new connections the renewed certificate without a restart', async () => {
    const files = authority.issue('server');
    await serve(files);
    const certificate = new ServerCertificate(files);
    const first = await connectTls({});
    authority.issue('server');
    certificate.renew(tlsServer());
    const second = await connectTls({});
    expect(second.getPeerCertificate().serialNumber).not.toBe(first.getPeerCertificate().serialNumber);
    first.destroy();
    second.destroy();
  });

  it('starts with an expired certificate, and logs it', () => {
    const { seen, logger } = events();
    new ServerCertificate(authority.issue('expired', { days: -1 }), logger);
    expect(seen).toEqual(['certificateExpired']);
  });

  describe('refuses to start', () => {
    const problem = (settings: { certFile: string; keyFile: string; clientCaFile?: string }): unknown => {
      try {
        return new ServerCertificate(settings);
      } catch (error) {
        return (error as { errorDescription?: string }).errorDescription;
      }
    };

    it.each(['certFile', 'keyFile', 'clientCaFile'] as const)('without the file of %s', (setting) => {
      const files = { ...authority.issue('server'), clientCaFile: authority.caFile, [setting]: '/nowhere/file.pem' };
      expect(problem(files)).toBe(`tls.${setting}: the file cannot be read (ENOENT). Check its path and permissions`);
    });

    it('with a key of another certificate', () => {
      const { certFile } = authority.issue('server');
      const { keyFile } = authority.issue('other');
      expect(problem({ certFile, keyFile })).toBe(
        'tls.keyFile: the key does not belong to the certificate of tls.certFile',
      );
    });

    it('with files of another kind', () => {
      const { certFile, keyFile } = authority.issue('server');
      expect(problem({ certFile: keyFile, keyFile })).toBe('tls.certFile: the file has no certificate in PEM format');
      expect(problem({ certFile, keyFile: certFile })).toBe(
        'tls.keyFile: the file has no private key without a passphrase in PEM format',
      );
    });

    it('with a file that is gone', () => {
      const files = authority.issue('gone');
      rmSync(files.certFile);
      expect(problem(files)).toMatch(/^tls\.certFile: the file cannot be read/);
    });
  });
});
