import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ContractClient } from '@convoy/api/client/contract-client';
import type { FleetCommand } from '@convoy/api/fleet/fleet';
import { idleReport } from '@convoy/api/fleet/idle-report';
import type { CoordinatorConfig } from '../../src/config/coordinator-config.js';
import { runCoordinator } from '../../src/process/coordinator-process.js';
import type { RunningCoordinator } from '../../src/process/coordinator-process.js';
import { TestMembers, shortTimings, silent } from './fleet-of-tests.js';
import type { TestMember } from './fleet-of-tests.js';
import { describeOnRedis, fleetName } from './redis-server.js';

interface ProgressData {
  readonly failure: unknown;
  readonly progress: { readonly state: string; readonly totalEventsApplied: number | null };
  readonly instances: readonly { readonly id: string }[];
}

/** Messages and comments of a stream, buffered until a test reads them. */
async function* messagesOf(response: IncomingMessage): AsyncGenerator<string, undefined> {
  let text = '';
  for await (const chunk of response) {
    const messages = (text + String(chunk)).split('\n\n');
    text = messages.pop() ?? '';
    yield* messages;
  }
}

/** A stream of server-sent events. */
async function openEvents(
  url: string,
  lastEventId?: string,
): Promise<{ next: () => Promise<{ id: string; data: ProgressData }>; close: () => void }> {
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const sent = request(`${url}/api/v1/events`, { headers }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  expect(response.headers['content-type']).toBe('text/event-stream');
  const messages = messagesOf(response);
  const next = async (): Promise<{ id: string; data: ProgressData }> => {
    for (;;) {
      const { value } = await messages.next();
      if (value === undefined) throw new Error('the stream has ended');
      const event = /^id: (?<id>\d+)\nevent: progress\ndata: (?<data>.*)$/.exec(value)?.groups;
      if (event !== undefined) return { id: event['id'] ?? '', data: JSON.parse(event['data'] ?? '') as ProgressData };
    }
  };
  return { next, close: () => sent.destroy() };
}

describeOnRedis('coordinator process', (redis) => {
  let group: TestMembers;
  let members: TestMember[];
  let coordinator: RunningCoordinator;
  let config: CoordinatorConfig;
  const handled: FleetCommand[] = [];
  beforeEach(async () => {
    handled.length = 0;
    const fleet = fleetName();
    config = {
      redis: redis.settings,
      fleet,
      port: 0,
      listen: '127.0.0.1',
      allowedHosts: [],
      allowUnauthenticated: false,
      verbosity: 'INFO',
    };
    group = new TestMembers(redis.settings, fleet);
    members = [];
    coordinator = await runCoordinator(config, { logger: silent, timings: shortTimings });
  });
  afterEach(async () => {
    await Promise.all([coordinator.close(), group.end()]);
  });

  it('names the taken address and the setting for another one', async () => {
    const port = Number(new URL(coordinator.url).port);
    const expected = {
      error: 'addressTaken',
      errorDescription: expect.stringMatching(new RegExp(`127\\.0\\.0\\.1:${port}.*--port`)) as unknown,
    };
    await expect(runCoordinator({ ...config, port }, { logger: silent, timings: shortTimings })).rejects.toMatchObject(
      expected,
    );
  });

  async function joinTwo(): Promise<void> {
    for (const id of ['shard0', 'shard1']) {
      const member = await group.join(id);
      member.fleet.serve((command) => {
        handled.push(command);
        return Promise.resolve({ success: true });
      });
      members.push(member);
    }
    const events = await openEvents(coordinator.url);
    while ((await events.next()).data.instances.length < 2);
    events.close();
  }

  async function call(path: string, init?: RequestInit): Promise<{ status: number; body: unknown }> {
    const response = await fetch(`${coordinator.url}${path}`, init);
    return { status: response.status, body: await response.json() };
  }

  it('reports an empty fleet', async () => {
    expect(await call('/healthz')).toMatchObject({ status: 200 });
    expect(await call('/readyz')).toMatchObject({ status: 200 });
    expect(await call('/api/v1/instances')).toEqual({ status: 200, body: { success: true, instances: [] } });
    expect(await call('/api/v1/progress')).toMatchObject({
      status: 503,
      body: { success: false, error: 'fleetIncomplete' },
    });
    expect(await call('/api/v1/pause', { method: 'POST' })).toMatchObject({
      status: 503,
      body: { error: 'fleetIncomplete' },
    });
  });

  it('makes a report once instances are registered, as JSON and as a file', async () => {
    const client = new ContractClient(coordinator.url);
    await expect(client.report()).rejects.toMatchObject({ error: 'fleetIncomplete' });
    await joinTwo();
    await expect
      .poll(async () => (await client.report().catch(() => null))?.instances.map(({ id }) => id))
      .toEqual(['shard0', 'shard1']);
    const page = await fetch(`${coordinator.url}/api/v1/report.html`);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await page.text()).toContain('No migration is running.');
  });

  it('validates a start before sending it', async () => {
    await joinTwo();
    const refused = await call('/api/v1/start', { method: 'POST', body: '{"source": "cluster0"}' });
    expect(refused).toMatchObject({ status: 400, body: { success: false, error: 'invalidRequest' } });
    expect(handled).toEqual([]);
    const body = JSON.stringify({ source: 'cluster0', destination: 'cluster1' });
    expect(await call('/api/v1/start', { method: 'POST', body })).toEqual({ status: 200, body: { success: true } });
    expect(handled).toHaveLength(2);
    expect(handled[0]).toEqual(handled[1]);
    expect(handled[0]?.body).toMatchObject({
      source: 'cluster0',
      destination: 'cluster1',
      buildIndexes: 'beforeDataCopy',
    });
  });

  it("replies with the fleet's progress or failure", async () => {
    await joinTwo();
    expect(await call('/api/v1/progress')).toMatchObject({
      status: 200,
      body: { progress: { state: 'IDLE', syncID: null } },
    });
    const [one] = members as [TestMember];
    const events = await openEvents(coordinator.url);
    const failure = { error: 'oplogHistoryLost', errorDescription: 'Lost.' } as const;
    one.fleet.report(idleReport(one.identity, { state: 'RUNNING', failure }));
    // Events about silence and leadership may come first.
    while ((await events.next()).data.failure === null);
    events.close();
    expect(await call('/api/v1/progress')).toEqual({ status: 409, body: { success: false, ...failure } });
    expect(await call('/api/v1/instances')).toMatchObject({
      body: { instances: [{ id: 'shard0', error: 'oplogHistoryLost' }, { id: 'shard1' }] },
    });
  });

  it('streams every change, and missed ones after a reconnect', async () => {
    await joinTwo();
    const [one, other] = members as [TestMember, TestMember];
    const events = await openEvents(coordinator.url);
    const first = await events.next();
    const report = (totalEventsApplied: number): void => {
      for (const { fleet, identity } of [one, other]) {
        const progress = { ...idleReport(identity).progress, state: 'RUNNING', totalEventsApplied } as const;
        fleet.report(idleReport(identity, { state: 'RUNNING', progress }));
      }
    };
    report(5);
    let last = await events.next();
    while (last.data.progress.totalEventsApplied !== 10) last = await events.next();
    expect(Number(last.id)).toBeGreaterThan(Number(first.id));
    expect(last.data.progress.state).toBe('RUNNING');
    expect(last.data.progress).not.toHaveProperty('instances');
    events.close();
    const again = await openEvents(coordinator.url, first.id);
    expect((await again.next()).data.progress.totalEventsApplied).toBe(10);
    again.close();
  });

  it("replies to a partly rejected command with each instance's reply", async () => {
    const refusal = { success: false, error: 'optionsDiffer', errorDescription: 'Other options.' } as const;
    for (const id of ['shard1', 'shard0']) {
      const { fleet } = await group.join(id);
      fleet.serve(() => Promise.resolve(id === 'shard0' ? { success: true } : refusal));
    }
    const events = await openEvents(coordinator.url);
    while ((await events.next()).data.instances.length < 2);
    events.close();
    const { status, body } = await call('/api/v1/pause', { method: 'POST' });
    expect({ status, body }).toMatchObject({
      status: 409,
      body: {
        success: false,
        error: 'commandFailedOnInstances',
        instances: [
          { id: 'shard0', success: true },
          { id: 'shard1', ...refusal },
        ],
      },
    });
    await expect(new ContractClient(coordinator.url).pause()).rejects.toMatchObject({
      instances: [
        { id: 'shard0', success: true },
        { id: 'shard1', ...refusal },
      ],
    });
  });

  it('serves Prometheus metrics and describes the fleet API', async () => {
    await joinTwo();
    const metrics = await fetch(`${coordinator.url}/metrics`);
    expect(metrics.headers.get('content-type')).toContain('text/plain');
    expect(await metrics.text()).toContain('convoy_fleet_instances 2');
    const { body } = await call('/api/v1/openapi.json');
    expect(JSON.stringify(body)).toContain('secondsRemaining');
  });

  it('rejects requests without access', async () => {
    const sent = request(`${coordinator.url}/api/v1/instances`, { headers: { host: 'evil.example' } }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(403);
    response.resume();
  });

  it('ends with its signal, along with its streams', async () => {
    const controller = new AbortController();
    const second = await runCoordinator(config, { logger: silent, timings: shortTimings, signal: controller.signal });
    const events = await openEvents(second.url);
    await events.next();
    controller.abort();
    await second.close();
    await expect(fetch(second.url)).rejects.toThrow();
    events.close();
  });

  it('serves the same state from a coordinator that starts later', async () => {
    await joinTwo();
    const second = await runCoordinator(config, { logger: silent, timings: shortTimings });
    const response = await fetch(`${second.url}/api/v1/instances`);
    expect(await response.json()).toMatchObject({
      instances: [
        { id: 'shard0', reachable: true },
        { id: 'shard1', reachable: true },
      ],
    });
    await second.close();
  });

  it('fails by name when Redis is unreachable', async () => {
    const nowhere = { ...config.redis, topology: { kind: 'single', address: { host: '127.0.0.1', port: 1 } } } as const;
    const start = runCoordinator({ ...config, redis: nowhere }, { logger: silent, timings: shortTimings });
    await expect(start).rejects.toMatchObject({ error: 'redisUnavailable' });
  });
});
