import type { FastifyInstance } from 'fastify';
import type { SuccessReply } from '../contract/reply.js';
import { ConvoyError } from '../errors/convoy-error.js';
import { HEALTH_PATH, READY_PATH } from './operations.js';

/**
 * Serves the health paths. `/healthz` replies while the process is alive; `/readyz` is 503 `notReady` until `isReady`
 * returns true.
 * @param whyNotReady the reason in that reply, which anybody may read; the error table's when left out
 */
export function useHealthRoutes(app: FastifyInstance, isReady: () => boolean, whyNotReady?: () => string): void {
  app.get(HEALTH_PATH, (): SuccessReply => ({ success: true }));
  app.get(READY_PATH, (): SuccessReply => {
    if (!isReady()) throw new ConvoyError('notReady', whyNotReady?.());
    return { success: true };
  });
}
