import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { FastifyInstance } from 'fastify';
import { REPORT_PAGE_PATH, REPORT_PATH } from '@convoy/api/http/operations';
import type { FleetDirector } from '../director/fleet-director.js';
import { cached } from '../watching/cached.js';
import { mergeNamespaces } from '../watching/namespaces.js';
import { migrationReport } from './migration-report.js';
import { reportPage } from './report-page.js';

/**
 * Serves the report of the migration as JSON, and as an HTML file to keep. Both fail with `fleetIncomplete` when no
 * instance ever registered.
 */
export function serveReport(app: FastifyInstance, director: FleetDirector): void {
  const report = cached(async () => {
    const [history, namespaces] = await Promise.all([
      director.details('history'),
      mergeNamespaces(director.namespaceDetails()),
    ]);
    const { failure, progress, instances } = director.progress();
    if (instances.length === 0) {
      throw new ConvoyError('fleetIncomplete', 'No instance of the fleet is registered. Start the instances first.');
    }
    const facts = { failure, progress, instances, history: [...history.values()][0] ?? null, namespaces };
    return migrationReport({ now_ms: Date.now(), ...facts });
  });
  app.get(REPORT_PATH, async () => ({ success: true, report: await report() }));
  app.get(REPORT_PAGE_PATH, async (_request, reply) => {
    void reply.header('content-type', 'text/html; charset=utf-8');
    void reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'");
    return reportPage(await report());
  });
}
