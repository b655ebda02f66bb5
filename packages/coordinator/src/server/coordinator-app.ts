import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { InstancesReply } from '@convoy/api/contract/fleet-progress';
import type { LogRecord } from '@convoy/api/contract/log-record';
import type { AccessSettings } from '@convoy/api/http/access-guard';
import { createHttpApp } from '@convoy/api/http/http-app';
import { METRICS_PATH, metricsReply } from '@convoy/api/http/metrics-reply';
import { EVENTS_PATH, INSTANCES_PATH } from '@convoy/api/http/operations';
import { DirectorService } from '../director/director-service.js';
import type { FleetConsole } from '../director/fleet-console.js';
import type { FleetDirector } from '../director/fleet-director.js';
import { causeOf } from '../director/warnings.js';
import { serveReport } from '../report/report-routes.js';
import { cachedDetails } from './cached-details.js';
import { DASHBOARD_PREFIXES, serveDashboard } from './dashboard-files.js';
import { EventStream } from './event-stream.js';
import { CoordinatorMetrics } from './fleet-metrics.js';
import { progressSource } from './fleet-streams.js';
import { StartGuide } from './start-guide.js';
import { serveLogs, serveStartGuide, serveWatching } from './watching-routes.js';

export interface CoordinatorAppOptions {
  readonly director: FleetDirector;
  readonly access: AccessSettings;
  readonly logger: Logger;
  /** The last warnings and errors of the logger. */
  readonly recentLogs?: () => readonly LogRecord[];
  /** The process's own metrics. */
  readonly metrics?: CoordinatorMetrics;
}

function whyNotReady(fleet: FleetConsole): string {
  return `Redis is unreachable, so this coordinator cannot send commands. It keeps retrying.${causeOf(fleet)}`;
}

/**
 * Creates the server of the fleet API: the contract for the whole fleet, its instances, the event stream, health and
 * metrics. It does not listen yet, and the caller may add routes.
 * @throws ConvoyError `invalidConfiguration` for access settings that would let anybody in
 */
export async function createCoordinatorApp({
  director,
  access,
  logger,
  recentLogs = () => [],
  metrics = new CoordinatorMetrics(),
}: CoordinatorAppOptions): Promise<FastifyInstance> {
  const guarded = { ...access, openPrefixes: DASHBOARD_PREFIXES };
  const { fleet } = director;
  const guide = new StartGuide(fleet);
  const app = await createHttpApp({
    service: new DirectorService(director, (name, run) => metrics.timed(name, run), guide),
    scope: 'fleet',
    access: guarded,
    isReady: () => fleet.isConnected(),
    whyNotReady: () => whyNotReady(fleet),
    logger,
  });
  const events = new EventStream(progressSource(director), Date.now());
  events.serve(app, EVENTS_PATH, 'Too many clients already watch the progress. Try again later.');
  app.get(INSTANCES_PATH, (_request, reply): InstancesReply => {
    void reply.header('cache-control', 'no-store');
    return { success: true, instances: [...director.instances()] };
  });
  const details = cachedDetails(fleet);
  serveWatching(app, director, details, guarded);
  serveLogs(app, fleet, recentLogs);
  serveStartGuide(app, guide);
  serveReport(app, director, details, guide);
  await serveDashboard(app);
  app.get(METRICS_PATH, async (request, reply): Promise<string> => {
    const { contentType, body } = metricsReply(
      request.headers.accept,
      await metrics.scrape(director.progress(), fleet.refusedMessages()),
    );
    void reply.header('content-type', contentType);
    return body;
  });
  return app;
}
