import type { FastifyInstance } from 'fastify';
import type { FleetInstance, FleetProgress } from '@convoy/api/contract/fleet-progress';
import type { History } from '@convoy/api/contract/history';
import type { Inventory } from '@convoy/api/contract/inventory';
import type { MigrationReport } from '@convoy/api/contract/migration-report';
import { nextStep, nextStepAfterFailure } from '@convoy/api/contract/next-step';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import type { Failure } from '@convoy/api/fleet/fleet';
import { REPORT_PAGE_PATH, REPORT_PATH } from '@convoy/api/http/operations';
import { verdictOf } from '../dashboard/views/verdict.js';
import type { FleetDirector } from '../director/fleet-director.js';
import { maxOf } from '../director/fold-reports.js';
import { refuseEmptyFleet } from '../director/recipients.js';
import type { CachedDetails } from '../server/cached-details.js';
import { addSums, type MergedNamespaces } from '../server/namespaces.js';
import type { StartGuide } from '../server/start-guide.js';
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

/** Maximum collections with their own row; the smaller ones are summed up. */
export const REPORT_ROWS_MAX = 1_000;

/** Sources of a report. */
export interface ReportFacts {
  readonly now_ms: number;
  readonly failure: Failure | null;
  readonly progress: FleetProgress;
  readonly instances: readonly FleetInstance[];
  /** Null until the leader has published it. */
  readonly history: History | null;
  readonly namespaces: MergedNamespaces;
  /** Null while no instance has answered. */
  readonly inventory: Inventory | null;
}

/** Builds a report; unknown values are null or empty. */
export function migrationReport(facts: ReportFacts): MigrationReport {
  const { now_ms, failure, progress, instances, history } = facts;
  const startedAt_ms = startOf(history);
  const endedAt_ms = endOf(history);
  const { collectionCopy, indexBuilding, directionMapping } = progress;
  return {
    madeAt_ms: now_ms,
    releases: [...new Set(instances.flatMap(({ release }) => release ?? []))].sort(),
    source: directionMapping?.Source ?? null,
    destination: directionMapping?.Destination ?? null,
    state: failure === null ? progress.state : 'FAILED',
    verdict: verdictOf(facts),
    nextStep: failure === null ? nextStep(progress) : nextStepAfterFailure,
    startedAt_ms,
    endedAt_ms,
    elapsed_seconds: startedAt_ms === null ? null : Math.max(0, (endedAt_ms ?? now_ms) - startedAt_ms) / 1000,
    copied: {
      bytes: collectionCopy?.estimatedCopiedBytes ?? null,
      totalBytes: collectionCopy?.estimatedTotalBytes ?? null,
      documents: largestOf(history, 'copiedDocuments'),
    },
    eventsApplied: progress.totalEventsApplied ?? largestOf(history, 'eventsApplied'),
    longestLag_seconds: largestOf(history, 'lagSeconds'),
    indexes:
      indexBuilding === null ? null : { built: indexBuilding.indexesBuilt, total: indexBuilding.totalIndexesToBuild },
    collections: collectionsOf(facts.namespaces),
    instances: instances.map(({ id, state, error }) => ({ id, state, error })),
    warnings: progress.warnings ?? [],
    commitBlockers: progress.commitBlockers ?? [],
    handOver: progress.handOver,
    inventory: facts.inventory,
    history,
  };
}

function startOf(history: History | null): number | null {
  const first = [history?.points[0]?.at_ms, history?.timeline[0]?.at_ms].filter((at_ms) => at_ms !== undefined);
  return first.length === 0 ? null : Math.min(...first);
}

/** End of the current direction; a reverse after a commit clears it. */
function endOf(history: History | null): number | null {
  const last = (history?.timeline ?? []).filter(({ state, kind }) => state !== undefined || kind === 'failure').at(-1);
  return last?.state === 'COMMITTED' || last?.kind === 'failure' ? last.at_ms : null;
}

function largestOf(history: History | null, stat: 'copiedDocuments' | 'eventsApplied' | 'lagSeconds'): number | null {
  return maxOf((history?.points ?? []).map((point) => point[stat]));
}

function collectionsOf({ rows, unnamed }: MergedNamespaces): MigrationReport['collections'] {
  const bySize = [...rows].sort((a, b) => b.totalBytes - a.totalBytes || (a.namespace < b.namespace ? -1 : 1));
  const others = bySize
    .slice(REPORT_ROWS_MAX)
    .reduce((sums, row) => addSums(sums, { ...row, collections: 1 }), unnamed);
  return {
    rows: bySize
      .slice(0, REPORT_ROWS_MAX)
      .map(({ namespace, destination, totalBytes, copiedBytes, copiedDocuments }) => ({
        namespace,
        ...(destination !== undefined && { destination }),
        totalBytes,
        copiedBytes,
        copiedDocuments,
      })),
    others,
  };
}
