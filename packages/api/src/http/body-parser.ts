import type { FastifyInstance } from 'fastify';
import { ConvoyError } from '../errors/convoy-error.js';

/** Default maximum size of a body: far above any filter, typed or generated. */
export const BODY_BYTES_MAX_DEFAULT = 1024 * 1024;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * A body's JSON value; an empty body counts as `{}`, since commands have no options.
 * @throws ConvoyError `invalidJson`
 */
export function parseJsonBody(bytes: Uint8Array): unknown {
  try {
    const text = utf8.decode(bytes).trim();
    return text === '' ? {} : (JSON.parse(text) as unknown);
  } catch (cause) {
    throw new ConvoyError('invalidJson', undefined, { cause });
  }
}

/** Parses every body as JSON whatever its Content-Type, up to a number of bytes. */
export function useJsonBodies(app: FastifyInstance, bodyBytesMax: number): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: bodyBytesMax }, (_request, body, done) => {
    try {
      done(null, parseJsonBody(body as Buffer));
    } catch (error) {
      done(error as ConvoyError);
    }
  });
  // Fastify rejects a malformed Content-Type before it calls the parser.
  app.addHook('onRequest', (request, _reply, done) => {
    delete request.raw.headers['content-type'];
    done();
  });
}
