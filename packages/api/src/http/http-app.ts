import Fastify, { LogController } from 'fastify';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { ConvoyError } from '../errors/convoy-error.js';
import { useAccessGuard } from './access-guard.js';
import type { AccessSettings } from './access-guard.js';
import { CONNECTION_LIMITS, Connections } from './connections.js';
import type { ConnectionLimits } from './connections.js';
import { contractRoutes } from './contract-routes.js';
import type { ContractRoutesOptions } from './contract-routes.js';
import { replyWithFailure } from './failure-replies.js';
import { useHealthRoutes } from './health-routes.js';

/** Settings of a server that speaks the contract. */
export interface HttpAppOptions extends ContractRoutesOptions {
  readonly access: AccessSettings;
  /** Whether commands can be taken. */
  readonly isReady: () => boolean;
  /** Why they cannot, in a sentence that anybody may read. */
  readonly whyNotReady?: () => string;
  /** Receives requests' failures; nothing is logged when left out. */
  readonly logger?: FastifyBaseLogger;
  /** Bounds of its connections other than `CONNECTION_LIMITS`, for tests. */
  readonly limits?: Partial<ConnectionLimits>;
}

/** The framework's own reply while it closes has another shape than the contract's. */
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
 * Makes a server with access guard, contract and health paths that does not listen yet; more routes may be added.
 * @throws ConvoyError `invalidConfiguration` for access settings that would let anybody in
 */
export async function createHttpApp(options: HttpAppOptions): Promise<FastifyInstance> {
  const limits = { ...CONNECTION_LIMITS, ...options.limits };
  const connections = new Connections(limits);
  const app: FastifyInstance = Fastify({
    ...(options.logger === undefined ? { logger: false } : { loggerInstance: options.logger }),
    logController: new LogController({ disableRequestLogging: true }),
    http: { connectionsCheckingInterval: limits.checkInterval_ms, headersTimeout: limits.headersTimeout_ms },
    requestTimeout: limits.requestTimeout_ms,
    connectionTimeout: limits.silence_ms,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors: replyWithFailure,
    clientErrorHandler: (_error, socket) => connections.refuse(socket),
  });
  connections.watch(app.server);
  useAccessGuard(app, options.access);
  refuseWhileClosing(app, connections);
  await app.register(contractRoutes, options);
  useHealthRoutes(app, options.isReady, options.whyNotReady);
  return app;
}
