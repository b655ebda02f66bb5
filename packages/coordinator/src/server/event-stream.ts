import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { ConvoyError } from '@convoy/api/errors/convoy-error';

/** Who follows a stream of server-sent events. */
interface Followers {
  hasRoom(): boolean;
  /** @param stream with its headers sent */
  add(stream: ServerResponse, lastEventId: string | undefined): void;
  close(): void;
}

/**
 * Serves a stream of server-sent events until the server closes.
 * @param tooMany what a client reads, with 503, while there is no room for another one
 */
export function serveEventStream(app: FastifyInstance, path: string, followers: Followers, tooMany: string): void {
  app.addHook('preClose', (done) => {
    followers.close();
    done();
  });
  app.get(path, (request, reply) => {
    if (!followers.hasRoom()) throw new ConvoyError('notReady', tooMany);
    const lastEventId = request.headers['last-event-id'];
    reply.hijack();
    reply.raw.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    followers.add(reply.raw, typeof lastEventId === 'string' ? lastEventId : undefined);
  });
}
