import type { Socket } from 'node:net';
import Fastify, { LogController } from 'fastify';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { failureReply } from '../contract/reply.js';
import { ConvoyError } from '../errors/convoy-error.js';
import { useAccessGuard } from './access-guard.js';
import type { AccessSettings } from './access-guard.js';
import { contractRoutes } from './contract-routes.js';
import type { ContractRoutesOptions } from './contract-routes.js';
import { replyWithFailure } from './failure-replies.js';
import { useHealthRoutes } from './health-routes.js';

/** Time in which a client has to send a whole request: bodies are small, and slow senders must not hold connections. */
const REQUEST_TIMEOUT_MS = 30_000;

/** Connections held at once: far above a fleet's clients, and far below the limit of open files. */
const CONNECTIONS_MAX = 1_000;

/** Settings of a server that speaks the contract. */
export interface HttpAppOptions extends ContractRoutesOptions {
  readonly access: AccessSettings;
  /** Whether commands can be taken. */
  readonly isReady: () => boolean;
  /** Why they cannot, in a sentence that anybody may read. */
  readonly whyNotReady?: () => string;
  /** Receives requests' failures; nothing is logged when left out. */
  readonly logger?: FastifyBaseLogger;
}

/** Answers what is not even HTTP, on the bare connection. */
function refuseMalformed(_error: Error, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(failureReply(new ConvoyError('invalidHttpRequest')));
  socket.end(
    'HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\n' +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** The framework's own reply while it closes has another shape than the contract's. */
function refuseWhileClosing(app: FastifyInstance): void {
  let closing = false;
  app.addHook('preClose', (done) => {
    closing = true;
    done();
  });
  app.addHook('onRequest', (_request, _reply, done) => {
    done(closing ? new ConvoyError('shuttingDown') : undefined);
  });
}

/**
 * Makes a server with access guard, contract and health paths that does not listen yet; more routes may be added.
 * @throws ConvoyError `invalidConfiguration` for access settings that would let anybody in
 */
export async function createHttpApp(options: HttpAppOptions): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({
    ...(options.logger === undefined ? { logger: false } : { loggerInstance: options.logger }),
    logController: new LogController({ disableRequestLogging: true }),
    requestTimeout: REQUEST_TIMEOUT_MS,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors: replyWithFailure,
    clientErrorHandler: refuseMalformed,
  });
  app.server.maxConnections = CONNECTIONS_MAX;
  useAccessGuard(app, options.access);
  refuseWhileClosing(app);
  await app.register(contractRoutes, options);
  useHealthRoutes(app, options.isReady, options.whyNotReady);
  return app;
}
