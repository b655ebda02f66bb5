import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ContractClient } from '@convoy/api/client/contract-client';
import { idleFleetProgress } from '@convoy/api/contract/fleet-progress';
import { idleProgress } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { createHttpApp } from '@convoy/api/http/http-app';
import { RecordingService } from '../http/recording-service.js';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

/** A listening server of the contract that requires the token `correct`. */
async function contractServer() {
  const service = new RecordingService();
  const access = { listen: '127.0.0.1', allowedHosts: [], token: 'correct', allowUnauthenticated: false };
  const app = await createHttpApp({ service, access, isReady: () => true });
  closers.push(() => app.close());
  return { service, url: await app.listen({ host: '127.0.0.1', port: 0 }) };
}

/** A listening server with a given reply. */
async function bareServer(answer: RequestListener): Promise<{ server: Server; url: string }> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe('calls', () => {
  it('sends every command and returns the reply body', async () => {
    const { service, url } = await contractServer();
    const client = new ContractClient(`${url}/`, { token: 'correct' });
    expect(await client.start({ source: 'cluster0', destination: 'cluster1' })).toEqual({ success: true });
    for (const command of ['pause', 'resume', 'commit', 'reverse'] as const) {
      expect(await client[command]()).toEqual({ success: true });
    }
    expect(service.calls.map(({ command }) => command)).toEqual(['start', 'pause', 'resume', 'commit', 'reverse']);
  });

  it('returns progress', async () => {
    const { url } = await contractServer();
    expect(await new ContractClient(url, { token: 'correct' }).progress()).toEqual({
      success: true,
      progress: idleProgress(),
    });
  });

  it("returns a fleet's progress", async () => {
    const { service, url } = await contractServer();
    service.report = { ...idleFleetProgress(), percent: 12.5 } as typeof service.report;
    const reply = await new ContractClient(url, { token: 'correct' }).fleetProgress();
    expect(reply.progress.percent).toBe(12.5);
  });

  it('leaves out fields of later releases', async () => {
    const { url } = await bareServer((_request, response) => {
      response.end(JSON.stringify({ success: true, progress: { ...idleProgress(), later: 1 } }));
    });
    expect((await new ContractClient(url).progress()).progress).toEqual(idleProgress());
  });
});

describe('failures', () => {
  it('throws the ConvoyError of a failure body', async () => {
    const { service, url } = await contractServer();
    service.failure = new ConvoyError('cannotCommit', 'Lag is 40 seconds.');
    const call = new ContractClient(url, { token: 'correct' }).commit();
    await expect(call).rejects.toMatchObject({
      error: 'cannotCommit',
      errorDescription: 'Lag is 40 seconds.',
      httpStatus: 409,
    });
  });

  it('throws unauthorized with a wrong token', async () => {
    const { url } = await contractServer();
    await expect(new ContractClient(url, { token: 'wrong' }).progress()).rejects.toMatchObject({
      error: 'unauthorized',
    });
  });

  it('keeps the name of an unknown failure', async () => {
    const { url } = await bareServer((_request, response) => {
      response.writeHead(409).end('{"success":false,"error":"fromTheFuture","errorDescription":"New."}');
    });
    await expect(new ContractClient(url).pause()).rejects.toMatchObject({
      error: 'unexpectedReply',
      errorDescription: 'fromTheFuture: New.',
    });
  });

  it.each(['', '<html>', '[]', '{"success":true}', '{"success":true,"progress":{}}'])(
    'throws unexpectedReply for %j',
    async (body) => {
      const { url } = await bareServer((_request, response) => response.end(body));
      await expect(new ContractClient(url).progress()).rejects.toMatchObject({ error: 'unexpectedReply' });
    },
  );

  it('throws unexpectedReply for an endless reply', async () => {
    const { url } = await bareServer((_request, response) => {
      const write = () => {
        while (!response.destroyed && response.write(Buffer.alloc(1024 * 1024, 32)));
      };
      response.on('drain', write);
      write();
    });
    await expect(new ContractClient(url).progress()).rejects.toMatchObject({
      error: 'unexpectedReply',
      errorDescription: 'The reply is longer than 16777216 bytes.',
    });
  });

  it('does not follow redirects', async () => {
    const { service, url: target } = await contractServer();
    const { url } = await bareServer((_request, response) => response.writeHead(307, { location: target }).end());
    await expect(new ContractClient(url, { token: 'correct' }).progress()).rejects.toMatchObject({
      error: 'instanceUnreachable',
    });
    expect(service.calls).toEqual([]);
  });

  it('throws instanceUnreachable when no server listens', async () => {
    const { server, url } = await bareServer(() => undefined);
    await new Promise((resolve) => server.close(resolve));
    await expect(new ContractClient(url).progress()).rejects.toMatchObject({
      error: 'instanceUnreachable',
      errorDescription:
        `${new URL(url).host} cannot be reached: the connection was refused (ECONNREFUSED). Check that the process ` +
        'runs and listens there.',
      httpStatus: 503,
    });
  });

  it('throws an error to try again for a process that dies before or within its reply', async () => {
    for (const begins of [false, true]) {
      const { url } = await bareServer((request, response) => {
        if (begins) response.write('{');
        setImmediate(() => request.socket.destroy());
      });
      await expect(new ContractClient(url).progress()).rejects.toMatchObject({
        error: 'instanceUnreachable',
        retry: 'automatic',
        errorDescription:
          `${new URL(url).host} closed the connection before it replied. Read progress to see the state. ` +
          'If the service uses TLS, set its address with https://.',
      });
    }
  });

  it('throws requestTimedOut without a reply in time', async () => {
    const { url } = await bareServer(() => undefined);
    await expect(new ContractClient(url, { timeout_ms: 50 }).progress()).rejects.toMatchObject({
      error: 'requestTimedOut',
    });
  });

  it('rejects with the reason of an aborted signal', async () => {
    const controller = new AbortController();
    const { url } = await bareServer(() => controller.abort(new Error('no longer wanted')));
    await expect(new ContractClient(url).progress({ signal: controller.signal })).rejects.toThrow('no longer wanted');
  });
});
