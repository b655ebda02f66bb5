import type { FastifyInstance } from 'fastify';
import { createHttpApp, type HttpAppOptions } from '@convoy/api/http/http-app';
import { METRICS_PATH, metricsReply } from '@convoy/api/http/metrics-reply';
import type { Metrics } from '../metrics/metrics.js';

export interface InstanceServerOptions extends Omit<HttpAppOptions, 'scope'> {
  metrics: Metrics;
}

/**
 * The HTTP server of an instance: contract, health paths and `/metrics` behind the access guard. It does not listen
 * yet, so that callers can add routes.
 * @throws ConvoyError `invalidConfiguration` for access settings that would let anybody in
 */
export async function createInstanceServer(options: InstanceServerOptions): Promise<FastifyInstance> {
  const { metrics, ...appOptions } = options;
  const app = await createHttpApp({ ...appOptions, scope: 'instance' });
  app.get(METRICS_PATH, async (request, reply) => {
    const { contentType, body } = metricsReply(request.headers.accept, await metrics.registry.metrics());
    void reply.header('content-type', contentType);
    return body;
  });
  return app;
}
