import { describe, expect, test } from 'vitest';
import { idleProgress } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { AccessSettings } from '@convoy/api/http/access-guard';
import type { ContractService } from '@convoy/api/http/contract-routes';
import type { OpenApiDocument } from '@convoy/api/http/openapi';
import { describedRoutes, routesOf } from '../../../../api/test/unit/http/described-answers.js';
import { Metrics } from '../../../src/metrics/metrics.js';
import { createInstanceServer } from '../../../src/process/instance-process.js';

const local: AccessSettings = { listen: '127.0.0.1', allowedHosts: [], allowUnauthenticated: false };

function service(): ContractService & { commands: string[] } {
  const commands: string[] = [];
  const accept = (name: string) => () => {
    commands.push(name);
    return Promise.resolve({});
  };
  return {
    commands,
    start: accept('start'),
    pause: accept('pause'),
    resume: accept('resume'),
    commit: () => Promise.reject(new ConvoyError('cannotCommit')),
    reverse: accept('reverse'),
    progress: () => Promise.resolve(idleProgress()),
    inventory: () => Promise.reject(new ConvoyError('notReady')),
    mismatches: async function* () {
      yield* await Promise.resolve([]);
    },
  };
}

async function server(access = local, ready = true) {
  const contract = service();
  const app = await createInstanceServer({
    service: contract,
    metrics: new Metrics({ processMetrics: false }),
    access,
    isReady: () => ready,
    whyNotReady: () => 'It connects.',
  });
  return { app, contract };
}

describe('the server of an instance', () => {
  test('serves the contract', async () => {
    const { app, contract } = await server();
    const progress = await app.inject({ url: '/api/v1/progress' });
    expect(progress.json()).toMatchObject({ success: true, progress: { state: 'IDLE', canCommit: false } });
    const start = await app.inject({
      method: 'POST',
      url: '/api/v1/start',
      payload: '{"source":"cluster0","destination":"cluster1"}',
    });
    expect(start.json()).toEqual({ success: true });
    expect(contract.commands).toEqual(['start']);
    const commit = await app.inject({ method: 'POST', url: '/api/v1/commit', payload: '{}' });
    expect([commit.statusCode, commit.json()]).toMatchObject([409, { success: false, error: 'cannotCommit' }]);
    await app.close();
  });

  test('serves metrics in the format of Prometheus', async () => {
    const { app } = await server();
    const reply = await app.inject({ url: '/metrics' });
    expect(reply.statusCode).toBe(200);
    expect(reply.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(reply.body).toContain('# TYPE convoy_copied_bytes_total counter');
    await app.close();
  });

  test('serves OpenMetrics on request', async () => {
    const { app } = await server();
    const reply = await app.inject({
      url: '/metrics',
      headers: { accept: 'application/openmetrics-text; version=1.0.0' },
    });
    expect(reply.headers['content-type']).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
    expect(reply.body).toContain('# TYPE convoy_copied_bytes counter\nconvoy_copied_bytes_total 0\n');
    await app.close();
  });

  test('describes every path that it serves', async () => {
    const { app } = await server();
    const document = (await app.inject('/api/v1/openapi.json')).json<OpenApiDocument>();
    expect(describedRoutes(document).sort()).toEqual(routesOf(app).sort());
    await app.close();
  });

  test('shows whether it lives and is ready', async () => {
    const { app } = await server(local, false);
    expect((await app.inject({ url: '/healthz' })).statusCode).toBe(200);
    const reply = await app.inject({ url: '/readyz' });
    expect([reply.statusCode, reply.json()]).toMatchObject([
      503,
      { success: false, error: 'notReady', errorDescription: 'It connects.' },
    ]);
    await app.close();
  });

  test('guards metrics like the rest', async () => {
    const { app } = await server({ ...local, listen: '0.0.0.0', token: 'word' });
    expect((await app.inject({ url: '/metrics' })).statusCode).toBe(401);
    expect((await app.inject({ url: '/metrics', headers: { authorization: 'Bearer word' } })).statusCode).toBe(200);
    expect(
      (await app.inject({ url: '/metrics', headers: { host: 'evil.example', authorization: 'Bearer word' } }))
        .statusCode,
    ).toBe(403);
    await app.close();
  });

  test('is refused for an address that anybody could call', async () => {
    await expect(server({ ...local, listen: '0.0.0.0' })).rejects.toThrow(ConvoyError);
  });
});
