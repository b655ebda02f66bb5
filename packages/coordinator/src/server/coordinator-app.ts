import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { FleetInstance } from '@convoy/api/contract/fleet-progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { AccessSettings } from '@convoy/api/http/access-guard';
import { createHttpApp } from '@convoy/api/http/http-app';
import { DirectorService } from '../director/director-service.js';
import type { FleetDirector } from '../director/fleet-director.js';
import { scrapeFleet } from './fleet-metrics.js';
import { ProgressEvents } from './progress-events.js';

/** Path of the rows per instance. */
export const INSTANCES_PATH = '/api/v1/instances';
/** Path of the stream of global progress. */
export const EVENTS_PATH = '/api/v1/events';

export interface CoordinatorAppOptions {
  readonly director: FleetDirector;
  readonly access: AccessSettings;
  readonly logger: Logger;
}

/** The reply of `GET /api/v1/instances`. */
export interface InstancesReply {
  readonly success: true;
  readonly instances: readonly FleetInstance[];
}

function serveEvents(app: FastifyInstance, events: ProgressEvents): void {
  app.addHook('preClose', (done) => {
    events.close();
    done();
  });
  app.get(EVENTS_PATH, (request, reply) => {
    if (!events.hasRoom()) throw new ConvoyError('notReady', 'Too many clients watch the progress already; try again later.');
    const lastEventId = request.headers['last-event-id'];
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' });
    events.add(reply.raw, typeof lastEventId === 'string' ? lastEventId : undefined);
  });
}

/**
 * Makes the server of the fleet API, which does not listen yet: the contract for the whole fleet, its instances, the
 * event stream, health and metrics. More routes may be added.
 * @throws ConvoyError `invalidConfiguration` for access settings that would let anybody in
 */
export async function createCoordinatorApp({ director, access, logger }: CoordinatorAppOptions): Promise<FastifyInstance> {
  const app = await createHttpApp({
    service: new DirectorService(director),
    scope: 'fleet',
    access,
    isReady: () => director.isConnected(),
    logger,
  });
  serveEvents(app, new ProgressEvents(director, Date.now()));
  app.get(INSTANCES_PATH, (_request, reply): InstancesReply => {
    void reply.header('cache-control', 'no-store');
    return { success: true, instances: director.instances() };
  });
  app.get('/metrics', async (_request, reply): Promise<string> => {
    const { contentType, text } = await scrapeFleet(director.progress());
    void reply.type(contentType);
    return text;
  });
  return app;
}
