import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';

/** Paths that show nothing of a fleet and are open to all who may reach the service: the page asks for a token itself. */
export const DASHBOARD_PREFIXES = ['/', '/dashboard/'];

const packageFolder = fileURLToPath(new URL('../../', import.meta.url));

/** Nothing but the service's own files and answers is loaded, nothing is written into the page as code or style, and no other page shows it in a frame. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

/** Serves the dashboard at `/`: its page and style as they are, its compiled modules, and the charts' library. */
export async function serveDashboard(app: FastifyInstance): Promise<void> {
  const charts = dirname(createRequire(import.meta.url).resolve('uplot'));
  const options = { cacheControl: false, index: false as const, setHeaders: (response: { setHeader: (name: string, value: string) => void }) => setHeaders(response) };
  await app.register(fastifyStatic, { ...options, root: `${packageFolder}static`, prefix: '/dashboard/' });
  // What is compiled lies in dist, also for tests, which run the sources.
  await app.register(fastifyStatic, { ...options, root: `${packageFolder}dist/dashboard`, prefix: '/dashboard/modules/', decorateReply: false });
  await app.register(fastifyStatic, { ...options, root: charts, prefix: '/dashboard/charts/', decorateReply: false });
  app.get('/', (_request, reply) => reply.sendFile('dashboard.html'));
}

function setHeaders(response: { setHeader: (name: string, value: string) => void }): void {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
}
