import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { OpenApiDocument } from '@convoy/api/http/openapi';

type Described = Record<string, { responses: Record<string, { content?: Record<string, { schema: object }> }> }>;

/**
 * Compares answers with what an OpenAPI document says of them.
 * @param document as it was served
 * @returns what an answer has that the document does not describe; empty when it fits
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
    const schema = `openapi#/${pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;
    ajv.validate({ $ref: schema }, body);
    return (ajv.errors ?? []).map(
      ({ instancePath, message }) => `${method} ${path} ${status}${instancePath}: ${message ?? ''}`,
    );
  };
}

/** Method and path of every route that a server has, as `GET /healthz`. The server prints a tree, each path below the one it begins with. */
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
