import type { FastifyInstance } from 'fastify';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import type { StartRequestBody } from '@convoy/api/contract/start-request';
import type { CheckReply, SourceReply } from '@convoy/api/contract/start-guide';
import { CHECK_PATH, SOURCE_PATH } from '@convoy/api/http/operations';
import type { FleetDirector } from '../director/fleet-director.js';
import { StartGuide } from './start-guide.js';

const usualClusters: StartRequestBody = { source: 'cluster0', destination: 'cluster1' };

/** Serves what users want to know before a start: the source's collections, and whether options pass the checks. */
export function serveStartGuide(app: FastifyInstance, director: Pick<FleetDirector, 'ask' | 'details'>): void {
  const guide = new StartGuide(director);
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
