import Fastify, { LogController } from 'fastify';
import type { FastifyBaseLogger, FastifyInstance, FastifyServerOptions } from 'fastify';
import { ConvoyError } from '../errors/convoy-error.js';
import { type AccessSettings, logExposure, useAccessGuard } from './access-guard.js';
import { CONNECTION_LIMITS, type ConnectionLimits, Connections } from './connections.js';
import { contractRoutes, type ContractRoutesOptions } from './contract-routes.js';
import { replyWithFailure } from './failure-replies.js';
import { type CertificateTaker, ServerCertificate } from './server-certificate.js';
import type { SuccessReply } from '../contract/reply.js';
import { HEALTH_PATH, READY_PATH } from './operations.js';

/**
 * Serves the health paths. `/healthz` replies while the process is alive; `/readyz` is 503 `notReady` until `isReady`
 * returns true.
 * @param whyNotReady the reason in that reply, which anybody may read; the error table's when left out
 */
function useHealthRoutes(app: FastifyInstance, isReady: () => boolean, whyNotReady?: () => string): void {
  app.get(HEALTH_PATH, (): SuccessReply => ({ success: true }));
  app.get(READY_PATH, (): SuccessReply => {
    if (!isReady()) throw new ConvoyError('notReady', whyNotReady?.());
    return { success: true };
  });
}

/** Options of a server for the contract. */
export interface HttpAppOptions extends ContractRoutesOptions {
  readonly access: AccessSettings;
  /** Whether the service accepts commands. */
  readonly isReady: () => boolean;
  /** Why it does not, in a sentence that anybody may read. */
  readonly whyNotReady?: () => string;
  /** Logs failed requests; nothing is logged when left out. */
  readonly logger?: FastifyBaseLogger;
  /** Overrides of `CONNECTION_LIMITS`, for tests. */
  readonly limits?: Partial<ConnectionLimits>;
}

/** Requests are parsed by the contract's own schemas. Fastify's compilers would take a tenth of a process's start. */
const schemaController = { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } };

function refuseSchema(): never {
  throw new Error('A route has a schema of Fastify: parse its request with a schema of the contract instead.');
}

/** Fastify's own reply while it closes does not have the contract's shape. */
function refuseWhileClosing(app: FastifyInstance, connections: Connections): void {
  let closing = false;
  app.addHook('preClose', (done) => {
    closing = true;
    connections.closeWaiting(app.server);
    done();
  });
  app.addHook('onRequest', (_request, _reply, done) => {
    done(closing ? new ConvoyError('shuttingDown') : undefined);
  });
}

/**
 * Creates a server with access guard, contract and health paths. It does not listen yet, and the caller may add routes.
 * @throws ConvoyError `invalidConfiguration` for access settings that would let anybody in
 */
export async function createHttpApp(options: HttpAppOptions): Promise<FastifyInstance> {
  const limits = { ...CONNECTION_LIMITS, ...options.limits };
  const connections = new Connections(limits);
  const certificate =
    options.access.tls === undefined ? undefined : new ServerCertificate(options.access.tls, options.logger);
  const http = { connectionsCheckingInterval: limits.checkInterval_ms, headersTimeout: limits.headersTimeout_ms };
  const settings: FastifyServerOptions & { https?: object } = {
    ...(options.logger === undefined ? { logger: false } : { loggerInstance: options.logger }),
    logController: new LogController({ disableRequestLogging: true }),
    schemaController,
    ...(certificate === undefined
      ? { http }
      : { https: { ...http, ...certificate.options, handshakeTimeout: limits.headersTimeout_ms } }),
    requestTimeout: limits.requestTimeout_ms,
    connectionTimeout: limits.silence_ms,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors: replyWithFailure,
    clientErrorHandler: (_error, socket) => connections.refuse(socket),
  };
  const app: FastifyInstance = Fastify(settings);
  connections.watch(app.server);
  if (certificate !== undefined) {
    const stop = certificate.watch(app.server as unknown as CertificateTaker);
    app.addHook('onClose', stop);
  }
  if (options.logger !== undefined) logExposure(options.access, options.logger);
  useAccessGuard(app, options.access);
  refuseWhileClosing(app, connections);
  await app.register(contractRoutes, options);
  useHealthRoutes(app, options.isReady, options.whyNotReady);
  return app;
}
