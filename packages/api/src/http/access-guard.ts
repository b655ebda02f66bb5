import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ConvoyError } from '../errors/convoy-error.js';
import { isLoopbackAddress, isLoopbackHost, splitHost } from './listen-address.js';
import { HEALTH_PATH, READY_PATH } from './operations.js';

/** Who may call the API. */
export interface AccessSettings {
  /** Name or address that the server listens on. */
  readonly listen: string;
  /** Names, with or without a port, under which the service is called besides those of the local host. */
  readonly allowedHosts: readonly string[];
  /** Bearer token that every call has to send; none is asked for when left out. */
  readonly token?: string | undefined;
  /** Explicit consent to listen elsewhere than on the local host without a token. */
  readonly allowUnauthenticated: boolean;
}

/** Probes of a container platform call under the address of the container and carry no token; they show nothing. */
const openPaths: readonly string[] = [HEALTH_PATH, READY_PATH];

/** Whether a host is one of the allowed; an allowed name without a port stands for every port. */
function isListed(text: string, allowedHosts: readonly string[]): boolean {
  const asked = splitHost(text);
  if (asked === undefined) return false;
  return allowedHosts.map(splitHost).some((allowed) => {
    return allowed?.host === asked.host && (allowed.port === '' || allowed.port === asked.port);
  });
}

function checkHost(request: FastifyRequest, settings: AccessSettings): void {
  const host = request.headers.host ?? '';
  if (isLoopbackHost(splitHost(host)?.host ?? '') || isListed(host, settings.allowedHosts)) return;
  throw new ConvoyError('hostNotAllowed');
}

/** A page's own calls have the service's host and port as their origin; local pages on other ports are strangers. */
function checkOrigin(request: FastifyRequest, settings: AccessSettings): void {
  const { origin, host } = request.headers;
  if (origin === undefined) return;
  const address = /^https?:\/\/(?<address>.+)$/i.exec(origin)?.groups?.['address'] ?? '';
  if (address !== '' && address.toLowerCase() === host?.toLowerCase()) return;
  if (isListed(address, settings.allowedHosts)) return;
  throw new ConvoyError('originNotAllowed');
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function checkToken(request: FastifyRequest, settings: AccessSettings): void {
  const { token } = settings;
  if (token === undefined) {
    if (settings.allowUnauthenticated || isLoopbackAddress(request.ip)) return;
    throw new ConvoyError('unauthorized');
  }
  const sent = /^bearer +(?<token>\S+) *$/i.exec(request.headers.authorization ?? '')?.groups?.['token'] ?? '';
  // Digests are compared, so that neither the content nor the length of the token shows in the time taken.
  if (!timingSafeEqual(digest(sent), digest(token))) throw new ConvoyError('unauthorized');
}

/**
 * Checks that a server may listen as configured.
 * @throws ConvoyError `invalidConfiguration` for an address beyond the local host that anybody could call
 */
export function checkAccessSettings(settings: AccessSettings): void {
  if (settings.token === '') throw new ConvoyError('invalidConfiguration', 'token: must not be empty');
  if (isLoopbackHost(settings.listen) || settings.token !== undefined || settings.allowUnauthenticated) return;
  throw new ConvoyError(
    'invalidConfiguration',
    'listen: an address beyond the local host needs a token, or allowUnauthenticated to go without',
  );
}

/**
 * Refuses every request whose Host or Origin is not the service's own, or that lacks the token; the health paths
 * stay open. Register before all routes.
 * @throws ConvoyError `invalidConfiguration` as `checkAccessSettings`
 */
export function useAccessGuard(app: FastifyInstance, settings: AccessSettings): void {
  checkAccessSettings(settings);
  app.addHook('onRequest', (request, reply, done) => {
    try {
      if (!openPaths.includes(request.routeOptions.url ?? '')) {
        checkHost(request, settings);
        checkOrigin(request, settings);
        checkToken(request, settings);
      }
      done();
    } catch (error) {
      if (error instanceof ConvoyError && error.error === 'unauthorized') void reply.header('www-authenticate', 'Bearer');
      done(error as ConvoyError);
    }
  });
}
