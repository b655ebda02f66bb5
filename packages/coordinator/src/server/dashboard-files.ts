import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic, { type FastifyStaticOptions } from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { replyWithFailure } from '@convoy/api/http/failure-replies';

/** Paths that reveal nothing about a fleet and are open to everybody: the page itself asks for a token. */
export const DASHBOARD_PREFIXES = ['/', '/dashboard/'];

const packageFolder = fileURLToPath(new URL('../../', import.meta.url));

/** Loads only the service's own files and replies, runs no inline code or style, and forbids framing by other pages. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

/** What the file server refuses for a request's headers; all else is a path that leads nowhere, or out of a folder. */
const HEADER_STATUSES = [412, 416];

/** The letters of Western European languages in all weights: 48 kB, which a browser loads once. */
const TYPEFACE = 'inter-latin-wght-normal.woff2';

/**
 * Serves the dashboard at `/`: its page, style and typeface as they are, its compiled modules, and the charts' library.
 * Whatever the file server refuses is answered in the contract's shape.
 */
export async function serveDashboard(app: FastifyInstance): Promise<void> {
  const { resolve } = createRequire(import.meta.url);
  const charts = dirname(resolve('uplot'));
  const typefaces = dirname(resolve(`@fontsource-variable/inter/files/${TYPEFACE}`));
  const options: Omit<FastifyStaticOptions, 'root'> = { cacheControl: false, index: false, setHeaders };
  // A scope of its own: only here an error with a status is the file server's and not a defect.
  await app.register(async (files) => {
    files.setErrorHandler((thrown, request, reply) => replyWithFailure(refusalOf(thrown), request, reply));
    await files.register(fastifyStatic, { ...options, root: `${packageFolder}static`, prefix: '/dashboard/' });
    // What is compiled lies in dist, also for tests, which run the sources.
    const modules = { root: `${packageFolder}dist/dashboard`, prefix: '/dashboard/modules/', decorateReply: false };
    await files.register(fastifyStatic, { ...options, ...modules });
    await files.register(fastifyStatic, {
      ...options,
      root: charts,
      prefix: '/dashboard/charts/',
      decorateReply: false,
    });
    files.get('/dashboard/inter.woff2', (_request, reply) => reply.sendFile(TYPEFACE, typefaces));
    files.get('/', (_request, reply) => reply.sendFile('dashboard.html'));
  });
}

function refusalOf(thrown: unknown): unknown {
  const status = thrown instanceof Error && 'statusCode' in thrown ? thrown.statusCode : undefined;
  if (typeof status !== 'number' || status < 400 || status >= 500) return thrown;
  return new ConvoyError(HEADER_STATUSES.includes(status) ? 'invalidHttpRequest' : 'unknownPath', undefined, {
    cause: thrown,
  });
}

function setHeaders(response: { setHeader: (name: string, value: string) => void }): void {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
}
