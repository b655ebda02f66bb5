import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { OpenApiDocument } from '@convoy/api/http/openapi';

type Described = Record<string, { responses: Record<string, { content?: Record<string, { schema: object }> }> }>;

/**
 * Compares replies with an OpenAPI document.
 * @param document as served
 * @returns what a reply has beyond the document's description; empty when it conforms
 */
export function answerChecker(
  document: OpenApiDocument,
): (method: string, path: string, status: number, body: unknown) => string[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, 'openapi');
  return (method, path, status, body) => {
    const operation = (document.paths[path] as Described | undefined)?.[method.toLowerCase()];
    if (operation === undefined) return [`${method} ${path} is not described`];
    if (operation.responses[status]?.content?.['application/json'] === undefined)
      return [`${method} ${path} has no described answer ${status}`];
    const pointer = [
      'paths',
      path,
      method.toLowerCase(),
      'responses',
      String(status),
      'content',
      'application/json',
      'schema',
    ];
    const escaped = pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')));
    const schema = `openapi#/${escaped.join('/')}`;
    ajv.validate({ $ref: schema }, body);
    return (ajv.errors ?? []).map(
      ({ instancePath, message }) => `${method} ${path} ${status}${instancePath}: ${message ?? ''}`,
    );
  };
}

/**
 * Method and path of every route of a server, as `GET /healthz`. Fastify prints a tree; each path continues its
 * parent's.
 */
export function routesOf(app: { printRoutes(options: { commonPrefix: boolean }): string }): string[] {
  const above: string[] = [];
  return app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const route = /^(?<indent>[│ ]*)[├└]── (?<path>\S*) \((?<methods>[A-Z, ]+)\)/.exec(line)?.groups;
      if (route === undefined) return [];
      const depth = (route['indent'] ?? '').length / 4;
      const path = above.slice(0, depth).join('') + (route['path'] ?? '');
      above.splice(depth, Infinity, route['path'] ?? '');
      const methods = (route['methods'] ?? '').split(', ').filter((method) => method !== '' && method !== 'HEAD');
      return methods.map((method) => `${method} ${path}`);
    });
}

/** The same of every operation of a document. */
export function describedRoutes(document: OpenApiDocument): string[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
}
