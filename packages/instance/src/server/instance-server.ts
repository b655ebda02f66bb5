import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { AccessSettings } from '@convoy/api/http/access-guard';
import type { ContractService } from '@convoy/api/http/contract-service';
import { createHttpApp } from '@convoy/api/http/http-app';
import { METRICS_PATH, metricsReply } from '@convoy/api/http/metrics-reply';
import type { Metrics } from '../metrics/metrics.js';

export interface InstanceServerOptions {
  service: ContractService;
  metrics: Metrics;
  access: AccessSettings;
  /** Whether the instance takes commands; before that `/readyz` answers 503. */
  isReady: () => boolean;
  /** The answer of `/readyz` before that; see `HttpAppOptions`. */
  whyNotReady?: () => string;
  logger?: FastifyBaseLogger;
}

/**
 * The HTTP server of an instance: contract, health paths and `/metrics` behind the access guard. It does not listen
 * yet, so that callers can add routes.
 * @throws ConvoyError `invalidConfiguration` for access settings that would let anybody in
 */
export async function createInstanceServer(options: InstanceServerOptions): Promise<FastifyInstance> {
  const { service, metrics, access, isReady, whyNotReady, logger } = options;
  const app = await createHttpApp({
    service,
    access,
    isReady,
    scope: 'instance',
    ...(whyNotReady === undefined ? {} : { whyNotReady }),
    ...(logger === undefined ? {} : { logger }),
  });
  app.get(METRICS_PATH, async (request, reply) => {
    const { contentType, body } = metricsReply(request.headers.accept, await metrics.registry.metrics());
    void reply.header('content-type', contentType);
    return body;
  });
  return app;
}
