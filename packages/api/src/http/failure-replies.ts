import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { failureReply } from '../contract/reply.js';
import { ConvoyError, toConvoyError } from '../errors/convoy-error.js';
import type { ErrorName } from '../errors/convoy-error.js';

/** Fastify's errors by code. Its other errors below 500 are malformed requests. */
const frameworkErrorNames: Readonly<Record<string, ErrorName>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'bodyTooLarge',
  FST_ERR_NOT_FOUND: 'unknownPath',
};

function isFrameworkError(thrown: unknown): thrown is FastifyError {
  return (
    thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' && thrown.code.startsWith('FST_')
  );
}

/** The failure for a thrown value: Fastify's rejections are the client's fault, other unknown errors are ours. */
function failureBehind(thrown: unknown): ConvoyError {
  if (isFrameworkError(thrown) && (thrown.statusCode ?? 500) < 500) {
    return new ConvoyError(frameworkErrorNames[thrown.code] ?? 'invalidHttpRequest', undefined, { cause: thrown });
  }
  return toConvoyError(thrown);
}

/** Replies with the contract's failure body. Anything but a ConvoyError is logged and becomes `internalError`. */
export function replyWithFailure(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const error = failureBehind(thrown);
  if (error.error === 'internalError') request.log.error({ event: 'requestFailed', err: thrown }, 'request failed');
  void reply.code(error.httpStatus).type('application/json; charset=utf-8').send(failureReply(error));
}

/** The path of a request without its query. */
function pathOf(request: FastifyRequest): string {
  const end = request.url.indexOf('?');
  return end === -1 ? request.url : request.url.slice(0, end);
}

/**
 * Gives every failure the contract's shape: thrown errors, unknown paths (404) and unsupported methods (405, with the
 * Allow header). Register before the routes.
 */
export function useFailureReplies(app: FastifyInstance): void {
  const methodsByPath = new Map<string, Set<string>>();
  app.addHook('onRoute', (route) => {
    const methods = methodsByPath.get(route.url) ?? new Set<string>();
    for (const method of [route.method].flat()) methods.add(method);
    methodsByPath.set(route.url, methods);
  });
  app.setErrorHandler(replyWithFailure);
  app.setNotFoundHandler((request, reply) => {
    const methods = methodsByPath.get(pathOf(request));
    if (methods === undefined) throw new ConvoyError('unknownPath');
    void reply.header('allow', [...methods].sort().join(', '));
    throw new ConvoyError('methodNotAllowed');
  });
}
