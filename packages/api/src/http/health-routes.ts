import type { FastifyInstance } from 'fastify';
import type { SuccessReply } from '../contract/reply.js';
import { ConvoyError } from '../errors/convoy-error.js';
import { HEALTH_PATH, READY_PATH } from './operations.js';

/**
 * Serves the health paths: `/healthz` answers while the process does, `/readyz` is 503 `notReady` until
 * `isReady` says that commands can be taken.
 */
export function useHealthRoutes(app: FastifyInstance, isReady: () => boolean): void {
  app.get(HEALTH_PATH, (): SuccessReply => ({ success: true }));
  app.get(READY_PATH, (): SuccessReply => {
    if (!isReady()) throw new ConvoyError('notReady');
    return { success: true };
  });
}
