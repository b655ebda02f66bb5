import { request } from 'node:http';
import { idleProgress } from '@convoy/api/contract/progress';
import { commandNames } from '@convoy/api/contract/commands';
import type { ErrorName } from '@convoy/api/errors/table';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Fixture } from './fixture.js';
import type { Reply, ServedInstance } from './served-instance.js';
import { accepts, refuses, startBody } from './start-conditions.js';

let fixture: Fixture;
let instance: ServedInstance;

beforeAll(async () => {
  fixture = await Fixture.open('replicaSet', 'replicaSet');
});

afterAll(() => fixture.close());

beforeEach(async () => {
  await fixture.cluster0.client.db('shop').collection('orders').insertOne({});
  instance = await fixture.startInstance();
});

afterEach(async () => {
  await instance.close();
  await fixture.clear();
});

const startPath = '/api/v1/start';

/** Checks the failure shape, and that the request changed nothing. */
async function expectRefused(reply: Reply, status: number, error: ErrorName, says = /\w/): Promise<void> {
  expect(reply).toEqual({
    status,
    body: { success: false, error, errorDescription: expect.stringMatching(says) as unknown },
  });
  expect(await instance.progress()).toEqual(idleProgress());
  expect(await fixture.cluster1.databases()).toEqual([]);
}

function post(body: string, path = startPath, headers: Record<string, string> = {}): Promise<Reply> {
  return instance.request('POST', path, { body, headers });
}

describe('a start body that is no JSON document', () => {
  it.each(['{', '{"source": cluster0}', "{'source': 'cluster0'}", 'source=cluster0', '{} {}', '\u0000'])(
    'is 400 invalidJson: %j',
    async (body) => {
      await expectRefused(await post(body), 400, 'invalidJson');
      await accepts(instance, startBody());
    },
  );

  it.each(['[]', 'null', '1', '"start"', 'true'])('is 400 invalidRequest: %j', async (body) => {
    await expectRefused(await post(body), 400, 'invalidRequest');
  });
});

describe('a start body with wrong fields names each of them', () => {
  it.each([
    [{ sources: 'cluster0' }, /sources/],
    [{ verification: { enabled: false, mode: 'full' } }, /verification\.mode/],
    [{ includeNamespaces: [{ database: 'shop', collection: 'orders' }] }, /includeNamespaces\[0\]\.collection/],
    [{ sharding: { shardingEntries: [], presplit: true } }, /sharding\.presplit/],
  ])('unknown: %j', async (more, says) => {
    await refuses(fixture, instance, startBody(more), { status: 400, error: 'invalidRequest', says });
    await accepts(instance, startBody());
  });

  it.each([
    [{ source: 7 }, /source/],
    [{ destination: ['cluster1'] }, /destination/],
    [{ buildIndexes: 'afterwards' }, /buildIndexes/],
    [{ buildIndexes: true }, /buildIndexes/],
    [{ enableUserWriteBlocking: 'true' }, /enableUserWriteBlocking/],
    [{ reversible: 1 }, /reversible/],
    [{ includeNamespaces: { database: 'shop' } }, /includeNamespaces/],
    [{ includeNamespaces: [{ collections: ['orders'] }] }, /includeNamespaces\[0\]/],
    [{ excludeNamespaces: [{ database: 'shop', collections: 'orders' }] }, /excludeNamespaces\[0\]\.collections/],
    [
      { excludeNamespaces: [{ database: 'shop', collectionsRegex: { options: 'i' } }] },
      /excludeNamespaces\[0\]\.collectionsRegex\.pattern/,
    ],
    [{ sharding: {} }, /sharding\.shardingEntries/],
    [
      { sharding: { shardingEntries: [{ database: 'shop', collection: 'orders' }] } },
      /sharding\.shardingEntries\[0\]\.shardCollection/,
    ],
    [{ verification: false }, /verification/],
    [{ verification: { enabled: 'no' } }, /verification\.enabled/],
  ])('of a wrong type or value: %j', async (more, says) => {
    await refuses(fixture, instance, startBody(more), { status: 400, error: 'invalidRequest', says });
  });

  it.each([
    ['{}', /source.*destination/],
    ['', /source.*destination/],
    ['{"source": "cluster0"}', /destination/],
    ['{"destination": "cluster1"}', /source/],
  ])('missing: %j', async (body, says) => {
    await expectRefused(await post(body), 400, 'invalidRequest', says);
    await accepts(instance, startBody());
  });
});

describe('what HTTP allows and the contract does not', () => {
  it('is 413 for a body of 2 MB', async () => {
    const body = JSON.stringify(startBody({ includeNamespaces: [{ database: 'x'.repeat(2 * 1024 * 1024) }] }));
    await expectRefused(await post(body), 413, 'bodyTooLarge');
    await accepts(instance, startBody());
  });

  it.each([
    ['GET', startPath, 'POST'],
    ['PUT', startPath, 'POST'],
    ['DELETE', '/api/v1/commit', 'POST'],
    ['POST', '/api/v1/progress', 'GET'],
  ])('is 405 for %s %s', async (method, path, allowed) => {
    const response = await fetch(instance.url + path, { method });
    expect(response.headers.get('allow')).toContain(allowed);
    await expectRefused(
      { status: response.status, body: (await response.json()) as Reply['body'] },
      405,
      'methodNotAllowed',
    );
  });

  it.each(['/api/v1/stop', '/api/v2/start', '/start', '/'])('is 404 for %s', async (path) => {
    await expectRefused(await post('{}', path), 404, 'unknownPath');
  });

  it.each(['Host', 'Origin'])('is 403 for a page of another name: %s', async (header) => {
    const { hostname, port } = new URL(instance.url);
    const reply = await rawRequest(hostname, Number(port), {
      [header]: header === 'Host' ? 'evil.example' : 'http://evil.example',
    });
    await expectRefused(reply, 403, header === 'Host' ? 'hostNotAllowed' : 'originNotAllowed');
  });
});

describe('the address of an instance without a setting for it', () => {
  it('is on the local host only', async () => {
    const { hostname, port } = new URL(instance.url);
    expect(hostname).toBe('127.0.0.1');
    await expect(rawRequest('127.0.0.2', Number(port), {})).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

describe('the other commands', () => {
  it.each(commandNames.filter((name) => name !== 'start'))('%s takes no fields and no bad JSON', async (name) => {
    await expectRefused(await post('{"force": true}', `/api/v1/${name}`), 400, 'invalidRequest', /force/);
    await expectRefused(await post('{', `/api/v1/${name}`), 400, 'invalidJson');
  });
});

describe('a right start body is JSON whatever its Content-Type', () => {
  it.each([
    'application/x-www-form-urlencoded',
    'text/plain;charset=UTF-8',
    'application/octet-stream',
    'nonsense',
    '',
  ])('accepts %j', async (type) => {
    const reply = await post(JSON.stringify(startBody()), startPath, { 'content-type': type });
    expect(reply).toEqual({ status: 200, body: { success: true } });
    expect((await instance.progress()).state).toBe('RUNNING');
  });
});

/** A start request with headers that fetch does not allow. */
function rawRequest(host: string, port: number, headers: Record<string, string>): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request({ host, port, path: startPath, method: 'POST', headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Reply['body'] }));
    });
    sent.on('error', reject).end(JSON.stringify(startBody()));
  });
}
