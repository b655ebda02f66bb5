import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorTable } from '@convoy/api/errors/table';
import { createHttpApp } from '@convoy/api/http/http-app';
import { contractJsonSchemas } from '@convoy/api/http/json-schema';
import { openApiDocument } from '@convoy/api/http/openapi';
import type { OpenApiDocument } from '@convoy/api/http/openapi';
import { RecordingService } from './recording-service.js';

let app: FastifyInstance;
const served: string[] = [];

beforeAll(async () => {
  app = await createHttpApp({
    service: new RecordingService(),
    access: { listen: '127.0.0.1', allowedHosts: [], allowUnauthenticated: false },
    isReady: () => true,
  });
  for (const line of app.printRoutes({ commonPrefix: false }).split('\n')) {
    const route = /(\/\S+) \(([^)]+)\)/.exec(line);
    const methods = (route?.[2] ?? '').split(', ').filter((method) => method !== '' && method !== 'HEAD');
    served.push(...methods.map((method) => `${method} ${route?.[1] ?? ''}`));
  }
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
    const described = Object.entries(document.paths).flatMap(([path, methods]) => {
      return Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`);
    });
    expect(described.sort()).toEqual(served.sort());
    expect(described).toContain('POST /api/v1/start');
    expect(described).toHaveLength(9);
  });

  it.each(['instance', 'fleet'] as const)('refers only to schemas that it holds (%s)', (scope) => {
    const document = openApiDocument(scope);
    const known = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect(references(document).length).toBeGreaterThan(20);
    expect(references(document).filter((reference) => !known.includes(reference))).toEqual([]);
  });

  it('tells the failures of each status by name', () => {
    const text = JSON.stringify(openApiDocument('instance').paths['/api/v1/start']);
    for (const name of Object.keys(errorTable).filter((name) => !['unknownPath', 'instanceUnknown', 'methodNotAllowed'].includes(name))) {
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
      buildIndexes: { default: 'beforeDataCopy', enum: ['beforeDataCopy', 'never'] },
      enableUserWriteBlocking: { default: false },
      reversible: { default: false },
      verification: { default: { enabled: true } },
    });
  });

  it('require every field of progress and let all but state and canCommit be null', () => {
    const progress = schemas['Progress'] as { required: string[]; properties: Record<string, unknown> };
    expect(progress.required.sort()).toEqual(Object.keys(progress.properties).sort());
    const nullable = Object.entries(progress.properties).filter(([, schema]) => JSON.stringify(schema).includes('"null"'));
    expect(Object.keys(progress.properties).filter((field) => !nullable.some(([name]) => name === field))).toEqual(['state', 'canCommit']);
  });

  it("have the fleet's rows in the fleet's progress alone", () => {
    expect(JSON.stringify(contractJsonSchemas('fleet')['Progress'])).toContain('#/components/schemas/FleetInstance');
    expect(schemas['FleetInstance']).toBeUndefined();
  });
});
