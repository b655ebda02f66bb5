import { errorTable } from '../errors/table.js';
import { contractJsonSchemas } from './json-schema.js';
import type { JsonSchema, ProgressScope } from './json-schema.js';
import { operationsOf } from './operations.js';
import type { Operation } from './operations.js';

/** The implemented release of the contract. */
const CONTRACT_VERSION = '2.0.0';

/** The parts of an OpenAPI 3.1 document that Convoy uses. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description: string;
    readonly license: { readonly name: string; readonly identifier: string };
  };
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly securitySchemes: Readonly<Record<string, unknown>>;
  };
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
}

function contentOf(schemaName: string, mediaType = 'application/json'): { content: unknown } {
  return { content: { [mediaType]: { schema: { $ref: `#/components/schemas/${schemaName}` } } } };
}

/** Names of the failures with one status, for the response description. */
function errorNamesOf(status: number): string {
  return Object.entries(errorTable)
    .filter(([, entry]) => entry.httpStatus === status)
    .map(([name]) => name)
    .join(', ');
}

function describeOperation(operation: Operation): Record<string, unknown> {
  const failures = operation.failures.map((status) => [
    String(status),
    { description: `One of: ${errorNamesOf(status)}.`, ...contentOf('FailureReply') },
  ]);
  return {
    operationId: operation.operationId,
    summary: operation.summary,
    ...(operation.body === undefined ? {} : { requestBody: { required: false, ...contentOf(operation.body) } }),
    ...(operation.parameters === undefined
      ? {}
      : {
          parameters: operation.parameters.map(({ name, type, description }) => ({
            name,
            in: 'query',
            required: false,
            description,
            schema: { type },
          })),
        }),
    responses: {
      200: { description: 'Success.', ...contentOf(operation.reply, operation.mediaType) },
      ...(Object.fromEntries(failures) as Record<string, unknown>),
    },
  };
}

/** The OpenAPI document of an instance or of the fleet, generated from the schemas that validate the bodies. */
export function openApiDocument(scope: ProgressScope): OpenApiDocument {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operationsOf(scope)) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: describeOperation(operation) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Convoy',
      version: CONTRACT_VERSION,
      description: 'Controls and monitors the migration of a MongoDB cluster.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths,
    components: {
      schemas: contractJsonSchemas(scope),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
    security: [{}, { bearer: [] }],
  };
}
