import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { contractRoutes } from '@convoy/api/http/contract-routes';
import { RecordingService } from './recording-service.js';

const startBody = { source: 'cluster0', destination: 'cluster1' };
const emptyCommands = ['pause', 'resume', 'commit', 'reverse'] as const;

let app: FastifyInstance;
let service: RecordingService;

beforeEach(async () => {
  service = new RecordingService();
  app = Fastify();
  await app.register(contractRoutes, { service, bodyBytesMax: 1024 * 1024 });
  app.get('/metrics', () => 'stats');
});

afterEach(async () => {
  await app.close();
});

async function post(path: string, payload?: string | Buffer, headers: Record<string, string> = {}) {
  const reply = await app.inject({ method: 'POST', url: path, headers, ...(payload === undefined ? {} : { payload }) });
  return { status: reply.statusCode, body: reply.json<Record<string, unknown>>(), headers: reply.headers };
}

async function expectFailure(
  reply: Promise<{ status: number; body: Record<string, unknown> }>,
  status: number,
  error: string,
) {
  const { status: seen, body } = await reply;
  expect({ seen, error: body['error'] }).toEqual({ seen: status, error });
  expect(Object.keys(body).sort()).toEqual(['error', 'errorDescription', 'success']);
  expect(body['success']).toBe(false);
  expect(body['errorDescription']).toEqual(expect.stringMatching(/\S/));
  return body;
}

describe('commands', () => {
  it('start answers success true alone and hands on the request with its defaults', async () => {
    const reply = await post('/api/v1/start', JSON.stringify(startBody));
    expect(reply).toMatchObject({ status: 200, body: { success: true } });
    expect(Object.keys(reply.body)).toEqual(['success']);
    expect(service.calls).toEqual([
      {
        command: 'start',
        request: {
          source: 'cluster0',
          destination: 'cluster1',
          buildIndexes: 'beforeDataCopy',
          enableUserWriteBlocking: false,
          includeNamespaces: [],
          excludeNamespaces: [],
          reversible: false,
          verification: { enabled: true },
        },
      },
    ]);
  });

  it.each(emptyCommands)('%s takes an empty document and answers success', async (command) => {
    expect(await post(`/api/v1/${command}`, '{}')).toMatchObject({ status: 200, body: { success: true } });
    expect(service.calls).toEqual([{ command }]);
  });

  it.each(emptyCommands)('%s takes no body at all', async (command) => {
    expect(await post(`/api/v1/${command}`)).toMatchObject({ status: 200, body: { success: true } });
  });

  it.each(emptyCommands)('%s refuses any field', async (command) => {
    const body = await expectFailure(post(`/api/v1/${command}`, '{"force":true}'), 400, 'invalidRequest');
    expect(body['errorDescription']).toContain('force: unknown field');
    expect(service.calls).toEqual([]);
  });

  it.each([
    'application/json',
    'application/x-www-form-urlencoded',
    'text/plain',
    'nonsense',
    ';;',
    'application/json; charset=latin1',
  ])('parses the body as JSON with Content-Type %s', async (contentType) => {
    const reply = await post('/api/v1/start', JSON.stringify(startBody), { 'content-type': contentType });
    expect(reply).toMatchObject({ status: 200, body: { success: true } });
  });

  it('takes a body with a byte order mark and white space', async () => {
    expect(await post('/api/v1/pause', '\uFEFF \r\n{ }\n')).toMatchObject({ status: 200 });
  });

  it('ignores query parameters', async () => {
    expect(await post('/api/v1/pause?x=1', '{}')).toMatchObject({ status: 200 });
  });
});

describe('refused requests change nothing', () => {
  afterEach(() => {
    expect(service.calls).toEqual([]);
  });

  it.each(['{', 'source=cluster0', '{"source":}', "{'source':'cluster0'}"])('bad JSON is 400: %s', async (payload) => {
    await expectFailure(post('/api/v1/start', payload), 400, 'invalidJson');
  });

  it('bytes that are not UTF-8 are 400', async () => {
    await expectFailure(post('/api/v1/start', Buffer.from([0x22, 0xff, 0x22])), 400, 'invalidJson');
  });

  it.each(['null', '[]', '1', '"start"', 'true'])('JSON that is no document is 400: %s', async (payload) => {
    await expectFailure(post('/api/v1/start', payload), 400, 'invalidRequest');
  });

  it('an empty start body lacks both clusters', async () => {
    const body = await expectFailure(post('/api/v1/start'), 400, 'invalidRequest');
    expect(body['errorDescription']).toBe('source: is required; destination: is required');
  });

  it('a body above the limit is 413', async () => {
    await expectFailure(post('/api/v1/start', ' '.repeat(2 * 1024 * 1024)), 413, 'bodyTooLarge');
  });

  it.each(['/', '/api', '/api/v1', '/api/v1/starts', '/api/v2/start', '/api/v1/start/', '/API/v1/start'])(
    'an unknown path is 404: %s',
    async (path) => {
      await expectFailure(post(path, '{}'), 404, 'unknownPath');
    },
  );

  it.each(['start', 'pause', 'resume', 'commit', 'reverse'])(
    'GET, PUT, PATCH and DELETE of %s are 405',
    async (command) => {
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'] as const) {
        const reply = await app.inject({ method, url: `/api/v1/${command}?x=1` });
        await expectFailure(Promise.resolve({ status: reply.statusCode, body: reply.json() }), 405, 'methodNotAllowed');
        expect(reply.headers['allow']).toBe('POST');
      }
    },
  );

  it('POST of progress and of a path that was added later are 405', async () => {
    for (const path of ['/api/v1/progress', '/metrics']) {
      const reply = await post(path, '{}');
      await expectFailure(Promise.resolve(reply), 405, 'methodNotAllowed');
      expect(reply.headers['allow']).toBe('GET, HEAD');
    }
  });

  it('a start that violates a rule between options is 422', async () => {
    const same = JSON.stringify({ source: 'cluster0', destination: 'cluster0' });
    await expectFailure(post('/api/v1/start', same), 422, 'sourceEqualsDestination');
  });
});

describe('failures of the service', () => {
  it.each(['notInThisState', 'shardingRequired', 'redisUnavailable'] as const)(
    '%s keeps its name and status',
    async (error) => {
      service.failure = new ConvoyError(error, 'What was found.');
      const reply = post('/api/v1/pause', '{}');
      const body = await expectFailure(reply, new ConvoyError(error).httpStatus, error);
      expect(body['errorDescription']).toBe('What was found.');
    },
  );

  it.each([
    new Error('mongodb://user:secret@host'),
    Object.assign(new Error('secret'), { statusCode: 418, code: 'ETEAPOT' }),
    'secret',
    null,
  ])('what is no ConvoyError becomes internalError and leaks nothing: %s', async (failure) => {
    service.failure = failure;
    const body = await expectFailure(post('/api/v1/commit', '{}'), 500, 'internalError');
    expect(JSON.stringify(body)).not.toContain('secret');
  });

  it('progress of a failed migration has the failure shape', async () => {
    service.failure = new ConvoyError('oplogHistoryLost');
    const reply = await app.inject('/api/v1/progress');
    await expectFailure(Promise.resolve({ status: reply.statusCode, body: reply.json() }), 409, 'oplogHistoryLost');
  });
});

describe('progress', () => {
  it('answers success and progress at the top level, with nothing but state and canCommit in IDLE', async () => {
    const reply = await app.inject('/api/v1/progress');
    expect(reply.statusCode).toBe(200);
    expect(reply.headers['cache-control']).toBe('no-store');
    const body = reply.json<{ success: boolean; progress: Record<string, unknown> }>();
    expect(Object.keys(body)).toEqual(['success', 'progress']);
    const { state, canCommit, ...others } = body.progress;
    expect({ success: body.success, state, canCommit }).toEqual({ success: true, state: 'IDLE', canCommit: false });
    expect(Object.keys(others).length).toBeGreaterThan(9);
    expect(Object.values(others).every((value) => value === null)).toBe(true);
  });

  it('needs neither body nor parameters and ignores them', async () => {
    expect((await app.inject('/api/v1/progress?verbose=1')).statusCode).toBe(200);
  });

  it('asks the service at every call', async () => {
    await app.inject('/api/v1/progress');
    await app.inject('/api/v1/progress');
    expect(service.calls).toEqual([{ command: 'progress' }, { command: 'progress' }]);
  });
});
