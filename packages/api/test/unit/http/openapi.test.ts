import { Validator } from '@seriousme/openapi-schema-validator';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { errorTable } from '@convoy/api/errors/table';
import { createHttpApp } from '@convoy/api/http/http-app';
import { contractJsonSchemas } from '@convoy/api/http/json-schema';
import { openApiDocument } from '@convoy/api/http/openapi';
import type { OpenApiDocument } from '@convoy/api/http/openapi';
import { answerChecker, describedRoutes, routesOf } from './described-answers.js';
import { RecordingService } from './recording-service.js';
import { buildIndexesValues } from '../../../src/contract/start-request.js';

let app: FastifyInstance;
const service = new RecordingService();
const served: string[] = [];

beforeAll(async () => {
  app = await createHttpApp({
    service,
    access: { listen: '127.0.0.1', allowedHosts: [], allowUnauthenticated: false },
    isReady: () => true,
  });
  served.push(...routesOf(app));
});

afterAll(async () => {
  await app.close();
});

/** Every `$ref` within a value. */
function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([field, inner]) => (field === '$ref' ? [String(inner)] : references(inner)));
}

describe('GET /api/v1/openapi.json', () => {
  it('describes exactly the paths that are served', async () => {
    const document = (await app.inject('/api/v1/openapi.json')).json<OpenApiDocument>();
    const described = describedRoutes(document);
    // Instances and coordinators add routes; their tests compare the whole.
    expect(described.filter((path) => path !== 'GET /metrics').sort()).toEqual(served.sort());
    expect(described).toContain('POST /api/v1/start');
  });

  it.each(['instance', 'fleet'] as const)('refers only to its own schemas (%s)', (scope) => {
    const document = openApiDocument(scope);
    const known = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect(references(document).length).toBeGreaterThan(20);
    expect(references(document).filter((reference) => !known.includes(reference))).toEqual([]);
  });

  it.each(['instance', 'fleet'] as const)('is valid by the rules of OpenAPI 3.1 (%s)', async (scope) => {
    const { valid, errors } = await new Validator().validate({ ...openApiDocument(scope) });
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
  });

  it('describes the replies, successes and failures', async () => {
    const check = answerChecker((await app.inject('/api/v1/openapi.json')).json<OpenApiDocument>());
    const requests = [
      ['POST', '/api/v1/start', '{"source":"cluster0","destination":"cluster1"}'],
      ['POST', '/api/v1/start', '{"source":1}'],
      ['POST', '/api/v1/start', 'no json'],
      ['POST', '/api/v1/pause', '{}'],
      ['GET', '/api/v1/progress', undefined],
      ['GET', '/healthz', undefined],
      ['GET', '/readyz', undefined],
    ] as const;
    for (const failure of [undefined, new ConvoyError('notInThisState'), new ConvoyError('redisUnavailable')]) {
      service.failure = failure;
      for (const [method, url, payload] of requests) {
        const reply = await app.inject({ method, url, ...(payload !== undefined && { payload }) });
        expect(check(method, url, reply.statusCode, reply.json())).toEqual([]);
      }
    }
    service.failure = undefined;
    // The comparison detects deviations.
    expect(
      check('GET', '/api/v1/progress', 200, { success: true, progress: { ...service.report, state: 'HAPPY' } }),
    ).not.toEqual([]);
    expect(check('GET', '/api/v1/progress', 418, {})).not.toEqual([]);
  });

  it('names the failures of each status', () => {
    const text = JSON.stringify(openApiDocument('instance').paths['/api/v1/start']);
    for (const name of Object.keys(errorTable).filter((name) => !['unknownPath', 'methodNotAllowed'].includes(name))) {
      expect(text).toContain(name);
    }
  });
});

describe('JSON schemas', () => {
  const schemas = contractJsonSchemas('instance');

  it('require only source and destination of a start request and allow no other field', () => {
    expect(schemas['StartRequest']).toMatchObject({ required: ['source', 'destination'], additionalProperties: false });
    expect(schemas['CommandBody']).toMatchObject({ type: 'object', properties: {}, additionalProperties: false });
  });

  it('show the defaults of the contract', () => {
    expect(schemas['StartRequest']?.['properties']).toMatchObject({
      buildIndexes: { default: 'beforeDataCopy', enum: [...buildIndexesValues] },
      enableUserWriteBlocking: { default: false },
      reversible: { default: false },
      verification: { default: { enabled: true } },
    });
  });

  it('require every field of progress and let all but state and canCommit be null', () => {
    const progress = schemas['Progress'] as { required: string[]; properties: Record<string, unknown> };
    expect(progress.required.sort()).toEqual(Object.keys(progress.properties).sort());
    const nullable = Object.entries(progress.properties).filter(([, schema]) =>
      JSON.stringify(schema).includes('"null"'),
    );
    expect(Object.keys(progress.properties).filter((field) => !nullable.some(([name]) => name === field))).toEqual([
      'state',
      'canCommit',
    ]);
  });

  it("have the fleet's rows in the fleet's progress alone", () => {
    expect(JSON.stringify(contractJsonSchemas('fleet')['Progress'])).toContain('#/components/schemas/FleetInstance');
    expect(schemas['FleetInstance']).toBeUndefined();
  });
});
