import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { FleetLogRecord, LogRecord } from '@convoy/api/contract/log-record';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import type { CheckReply, SourceReply } from '@convoy/api/contract/start-guide';
import type { StartRequestBody } from '@convoy/api/contract/start-request';
import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import { type AccessSettings, mayCommand } from '@convoy/api/http/access-guard';
import { CHECK_PATH, LOGS_PATH, SOURCE_PATH } from '@convoy/api/http/operations';
import type { CommandView } from '../dashboard/message.js';
import type { FleetConsole } from '../director/fleet-console.js';
import type { FleetDirector } from '../director/fleet-director.js';
import { cached, type CachedDetails } from './cached-details.js';
import { EventStream } from './event-stream.js';
import { dashboardSource } from './fleet-streams.js';
import { NAMESPACE_ROWS_MAX, namespaceOrders, pageOfNamespaces } from './namespaces.js';
import type { StartGuide } from './start-guide.js';

const usualClusters: StartRequestBody = { source: 'cluster0', destination: 'cluster1' };

/** Serves what users want to know before a start: the source's collections, and whether options pass the checks. */
export function serveStartGuide(app: FastifyInstance, guide: Pick<StartGuide, 'listing' | 'check'>): void {
  app.get(SOURCE_PATH, async ({ query }): Promise<SourceReply> => {
    const { at_ms, clusters, rows, unlisted } = await guide.listing(
      parseStartRequest({ ...usualClusters, ...(query as Partial<StartRequestBody>) }),
    );
    return { success: true, at_ms, clusters, rows, unlisted };
  });
  app.post(CHECK_PATH, async ({ body }): Promise<CheckReply> => {
    const { canStart, items } = await guide.check(parseStartRequest(body ?? {}));
    return { success: true, canStart, items };
  });
}

/** Maximum records of a reply. */
export const LOGS_MAX = 1_000;

const logsQuerySchema = z.object({ limit: z.coerce.number().int().min(1).max(LOGS_MAX).catch(LOGS_MAX) });

/**
 * Serves the last warnings and errors of all processes.
 * @param own those of this coordinator
 */
export function serveLogs(
  app: FastifyInstance,
  fleet: Pick<FleetConsole, 'details'>,
  own: () => readonly LogRecord[],
): void {
  const logs = cached(() => mergeLogs(fleet.details('logs'), own()));
  app.get(LOGS_PATH, async ({ query }): Promise<{ success: true; logs: FleetLogRecord[] }> => {
    const { limit } = logsQuerySchema.parse(query);
    return { success: true, logs: (await logs()).slice(-limit) };
  });
}

const namespacesQuerySchema = z.object({
  offset: z.coerce.number().int().min(0).max(1_000_000).catch(0),
  limit: z.coerce.number().int().min(1).max(NAMESPACE_ROWS_MAX).catch(50),
  search: z.string().max(300).catch(''),
  sort: z.enum(namespaceOrders).catch('activity'),
});

/**
 * Serves the dashboard's data beyond the contract: `/api/v1/watch` (events), `/api/v1/history`, `/api/v1/namespaces`,
 * `/api/v1/preflight`, `/api/v1/commands` and `/api/v1/access`. All routes only read.
 */
export function serveWatching(
  app: FastifyInstance,
  director: FleetDirector,
  details: CachedDetails,
  access: AccessSettings,
): void {
  const changes = new EventStream(dashboardSource(director), Date.now());
  changes.serve(app, '/api/v1/watch', 'Too many pages already watch the fleet. Try again later.');
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (request.url.startsWith('/api/') && !reply.hasHeader('cache-control'))
      void reply.header('cache-control', 'no-store');
    done();
  });
  app.get('/api/v1/history', async () => ({ success: true, history: await details.history() }));
  app.get('/api/v1/namespaces', async ({ query }) =>
    pageOfNamespaces(await details.namespaces(), namespacesQuerySchema.parse(query)),
  );
  app.get('/api/v1/preflight', async () => ({ success: true, reports: await details.preflight() }));
  app.get('/api/v1/commands', () => ({ success: true, commands: commandViews(director) }));
  app.get('/api/v1/access', (request) => ({ success: true, mayCommand: mayCommand(request, access) }));
}

function commandViews(director: FleetDirector): CommandView[] {
  return director.commands().map(({ commandId, at_ms, name, success, results, waitingFor }) => ({
    commandId,
    at_ms,
    name,
    success,
    results: Object.fromEntries(results),
    waitingFor: [...waitingFor],
  }));
}

/**
 * The last warnings and errors of all processes, oldest first. It holds one instance's details at a time.
 * @param own those of this coordinator
 */
export async function mergeLogs(
  details: AsyncIterable<[id: string, details: PublishedDetails['logs']]>,
  own: readonly LogRecord[],
): Promise<FleetLogRecord[]> {
  let merged: FleetLogRecord[] = own.map((record) => ({ ...record, instance: null }));
  for await (const [instance, { records }] of details) {
    merged.push(...records.map((record) => ({ ...record, instance })));
    if (merged.length > 2 * LOGS_MAX) merged = latestOf(merged);
  }
  return latestOf(merged);
}

function latestOf(records: FleetLogRecord[]): FleetLogRecord[] {
  return records.sort((a, b) => a.at_ms - b.at_ms).slice(-LOGS_MAX);
}
