import Fastify from 'fastify';
import { expect, it } from 'vitest';
import type { Mismatch } from '@convoy/api/contract/mismatch';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { contractRoutes } from '@convoy/api/http/contract-routes';
import { RecordingService } from './recording-service.js';

const mismatch: Mismatch = {
  namespace: 'shop.orders',
  kind: 'missingOnDestination',
  _id: { $numberInt: '4' },
  paths: [],
  detail: null,
  firstSeen: '2026-01-01T00:00:00.000Z',
  lastSeen: '2026-01-01T00:00:01.000Z',
  looks: 2,
  proven: true,
};

async function ask(service: RecordingService, query = '') {
  await using app = Fastify();
  await app.register(contractRoutes, { service, bodyBytesMax: 1024 });
  return await app.inject({ url: `/api/v1/verification/mismatches${query}` });
}

it('mismatches are one JSON object per line', async () => {
  const service = new RecordingService();
  service.found = [mismatch, { ...mismatch, _id: 5 }];
  const reply = await ask(service);
  expect([reply.statusCode, reply.headers['content-type']]).toEqual([200, expect.stringContaining('ndjson')]);
  expect(
    reply.body
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual(service.found);
  expect(service.asked).toEqual([{ limit: 10_000 }]);
});

it('filters mismatches by kind, namespace and limit', async () => {
  const service = new RecordingService();
  expect((await ask(service, '?kind=different&namespace=shop.orders&limit=3')).body).toBe('');
  expect(service.asked).toEqual([{ kind: 'different', namespace: 'shop.orders', limit: 3 }]);
});

it.each(['?kind=wrong', '?limit=0', '?limit=many', '?namespace=', '?other=1'])(
  'rejects other parameters of mismatches: %s',
  async (query) => {
    const service = new RecordingService();
    const reply = await ask(service, query);
    expect([reply.statusCode, reply.json<{ error: string }>().error]).toEqual([400, 'invalidRequest']);
    expect(service.asked).toEqual([]);
  },
);

it('replies with the error when mismatches cannot be read', async () => {
  const service = new RecordingService();
  service.failure = new ConvoyError('notReady');
  expect((await ask(service)).json()).toMatchObject({ success: false, error: 'notReady' });
});
