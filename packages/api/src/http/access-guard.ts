import { createHash, timingSafeEqual } from 'node:crypto';
import { TLSSocket } from 'node:tls';
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify';
import type { TlsSettings } from '../configuration/tls-settings.js';
import { ConvoyError, isConvoyError } from '../errors/convoy-error.js';
import { isLoopbackAddress, isLoopbackHost, splitHost } from './listen-address.js';
import { HEALTH_PATH, READY_PATH } from './operations.js';

/** Who may call the API. */
export interface AccessSettings {
  /** Name or address that the server listens on. */
  readonly listen: string;
  /** Names, with or without a port, of the service besides those of the local host. */
  readonly allowedHosts: readonly string[];
  /** Bearer token that every call must send; no token is needed when left out. */
  readonly token?: string | undefined;
  /** Read-only bearer token: every method but GET and HEAD is rejected. */
  readonly viewToken?: string | undefined;
  /** Paths below these, like a page's files, reveal nothing about the service and need no token. */
  readonly openPrefixes?: readonly string[];
  /** Allows an address beyond the local host without a token. */
  readonly allowUnauthenticated: boolean;
  /** Serves by TLS. With a CA for client certificates, every request needs one, besides the token. */
  readonly tls?: TlsSettings | undefined;
}

/** Container probes call under the container's address and without a token; these paths reveal nothing. */
const openPaths: readonly string[] = [HEALTH_PATH, READY_PATH];

/** Whether a host is allowed; an allowed name without a port matches every port. */
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

/** A page's own calls have the service's host and port as their origin. Local pages on other ports are foreign. */
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

/** Whether the request only reads. */
function isReading({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Compares digests, so that timing reveals neither the content nor the length of the token. */
function isToken(sent: string, token: string | undefined): boolean {
  return token !== undefined && timingSafeEqual(digest(sent), digest(token));
}

/** Rejects commands that another site made the browser send, whatever else they carry; browsers name the site. */
function checkSite(request: FastifyRequest, settings: AccessSettings): void {
  const site = request.headers['sec-fetch-site'];
  if (isReading(request) || site === undefined || site === 'same-origin' || site === 'none') return;
  if (request.headers.origin !== undefined && settings.allowedHosts.length > 0) return;
  throw new ConvoyError('originNotAllowed');
}

/**
 * Whether a request that has passed the guard may send commands.
 * @returns false for the read-only token
 */
export function mayCommand(request: FastifyRequest, settings: AccessSettings): boolean {
  return settings.token === undefined || isToken(sentToken(request), settings.token);
}

function sentToken(request: FastifyRequest): string {
  return /^bearer +(?<token>\S+) *$/i.exec(request.headers.authorization ?? '')?.groups?.['token'] ?? '';
}

function needsCertificate({ tls }: AccessSettings): boolean {
  return tls?.clientCaFile !== undefined;
}

function checkCertificate(request: FastifyRequest, settings: AccessSettings): void {
  const { socket } = request.raw;
  if (!needsCertificate(settings) || (socket instanceof TLSSocket && socket.authorized)) return;
  throw new ConvoyError('unauthorized', 'The request needs a client certificate that the CA of this service signed.');
}

function checkToken(request: FastifyRequest, settings: AccessSettings): void {
  const { token, viewToken } = settings;
  if (token === undefined) {
    if (needsCertificate(settings) || settings.allowUnauthenticated || isLoopbackAddress(request.ip)) return;
    throw new ConvoyError('unauthorized');
  }
  const sent = sentToken(request);
  if (isToken(sent, token)) return;
  if (!isToken(sent, viewToken)) throw new ConvoyError('unauthorized');
  if (!isReading(request)) throw new ConvoyError('readOnlyToken');
}

/** Checks the route's own path, not the requested one: an encoded path must not pass as another. */
function isOpen({ routeOptions }: FastifyRequest, { openPrefixes = [] }: AccessSettings): boolean {
  const path = routeOptions.url ?? '';
  return openPrefixes.some((prefix) => path === prefix || (prefix !== '/' && path.startsWith(prefix)));
}

/**
 * Checks that a server may listen as configured.
 * @throws ConvoyError `invalidConfiguration` for an address beyond the local host without access control
 */
export function checkAccessSettings(settings: AccessSettings): void {
  if (settings.viewToken !== undefined && (settings.token === undefined || settings.token === settings.viewToken)) {
    throw new ConvoyError('invalidConfiguration', 'viewToken: needs a different token that may send commands');
  }
  if (settings.token === '') throw new ConvoyError('invalidConfiguration', 'token: must not be empty');
  if (isLoopbackHost(settings.listen) || settings.token !== undefined) return;
  if (needsCertificate(settings) || settings.allowUnauthenticated) return;
  throw new ConvoyError(
    'invalidConfiguration',
    'listen: an address beyond the local host needs a token or allowUnauthenticated',
  );
}

/** Logs what others can do with an API that listens beyond the local host. */
export function logExposure(settings: AccessSettings, logger: Pick<FastifyBaseLogger, 'warn'>): void {
  if (isLoopbackHost(settings.listen)) return;
  if (settings.token === undefined && !needsCertificate(settings))
    logger.warn({ event: 'apiUnprotected' }, 'whoever reaches the API commands it: set a token');
  if (settings.tls === undefined)
    logger.warn(
      { event: 'apiNotEncrypted' },
      'the API has no TLS, so tokens travel in plain text: set tls, or use a proxy',
    );
}

/**
 * Rejects every request whose Host or Origin is not the service's own, or that lacks the token. The health paths stay
 * open. Register before all routes.
 * @throws ConvoyError `invalidConfiguration` as `checkAccessSettings`
 */
export function useAccessGuard(app: FastifyInstance, settings: AccessSettings): void {
  checkAccessSettings(settings);
  app.addHook('onRequest', (request, reply, done) => {
    try {
      if (!openPaths.includes(request.routeOptions.url ?? '')) {
        checkHost(request, settings);
        checkOrigin(request, settings);
        checkSite(request, settings);
        if (!isOpen(request, settings)) {
          checkCertificate(request, settings);
          checkToken(request, settings);
        }
      }
      done();
    } catch (error) {
      if (isConvoyError(error, 'unauthorized')) void reply.header('www-authenticate', 'Bearer');
      done(error as ConvoyError);
    }
  });
}
