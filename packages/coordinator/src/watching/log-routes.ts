import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { FleetLogRecord, LogRecord } from '@convoy/api/contract/log-record';
import { LOGS_PATH } from '@convoy/api/http/operations';
import type { FleetDirector } from '../director/fleet-director.js';
import { cached } from './cached.js';
import { LOGS_MAX, mergeLogs } from './fleet-logs.js';

const querySchema = z.object({ limit: z.coerce.number().int().min(1).max(LOGS_MAX).catch(LOGS_MAX) });

/**
 * Serves the last warnings and errors of all processes.
 * @param own those of this coordinator
 */
export function serveLogs(
  app: FastifyInstance,
  director: Pick<FleetDirector, 'logDetails'>,
  own: () => readonly LogRecord[],
): void {
  const logs = cached(() => mergeLogs(director.logDetails(), own()));
  app.get(LOGS_PATH, async ({ query }): Promise<{ success: true; logs: FleetLogRecord[] }> => {
    const { limit } = querySchema.parse(query);
    return { success: true, logs: (await logs()).slice(-limit) };
  });
}
