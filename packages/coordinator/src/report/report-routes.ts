import type { FastifyInstance } from 'fastify';
import type { MigrationReport } from '@convoy/api/contract/migration-report';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { REPORT_PAGE_PATH, REPORT_PATH } from '@convoy/api/http/operations';
import type { FleetDirector } from '../director/fleet-director.js';
import { refuseEmptyFleet } from '../director/refuse-empty-fleet.js';
import type { CachedDetails } from '../watching/cached-details.js';
import type { StartGuide } from '../watching/start-guide.js';
import { migrationReport } from './migration-report.js';
import { reportPage } from './report-page.js';

/** The clusters whose inventory counts while no migration is recorded. */
const usualRequest = parseStartRequest({ source: 'cluster0', destination: 'cluster1' });

/** Serves the report of the migration as JSON, and as an HTML file to keep. Both fail as `refuseEmptyFleet`. */
export function serveReport(
  app: FastifyInstance,
  director: FleetDirector,
  details: CachedDetails,
  guide: Pick<StartGuide, 'knownInventory'>,
): void {
  const report = async (): Promise<MigrationReport> => {
    const [history, namespaces, inventory] = await Promise.all([
      details.history(),
      details.namespaces(),
      guide.knownInventory(usualRequest),
    ]);
    const { failure, progress, instances } = director.progress();
    refuseEmptyFleet(instances, director.snapshot());
    return migrationReport({ now_ms: Date.now(), failure, progress, instances, history, namespaces, inventory });
  };
  app.get(REPORT_PATH, async () => ({ success: true, report: await report() }));
  app.get(REPORT_PAGE_PATH, async (_request, reply) => {
    void reply.header('content-type', 'text/html; charset=utf-8');
    void reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'");
    return reportPage(await report());
  });
}
