import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { AccessSettings } from '@convoy/api/http/access-guard';
import type { ContractService } from '@convoy/api/http/contract-service';
import { createHttpApp } from '@convoy/api/http/http-app';
import type { Metrics } from '../metrics/metrics.js';

export const METRICS_PATH = '/metrics';

export interface InstanceServerOptions {
  service: ContractService;
  metrics: Metrics;
  access: AccessSettings;
  /** Whether commands can be taken; before that `/readyz` answers 503. */
  isReady: () => boolean;
  logger?: FastifyBaseLogger;
}

/**
 * The HTTP server of an instance: contract, health paths and `/metrics` behind the access guard. It does not listen
 * yet, and more routes may be added before it does.
 * @throws ConvoyError `invalidConfiguration` for access settings that would let anybody in
 */
export async function createInstanceServer(options: InstanceServerOptions): Promise<FastifyInstance> {
  const { service, metrics, access, isReady, logger } = options;
  const app = await createHttpApp({ service, access, isReady, scope: 'instance', ...(logger === undefined ? {} : { logger }) });
  app.get(METRICS_PATH, async (_request, reply) => {
    void reply.header('content-type', metrics.registry.contentType);
    return metrics.registry.metrics();
  });
  return app;
}
