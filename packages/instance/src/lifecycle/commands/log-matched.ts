import type { Logger } from 'pino';
import { type Catalog, namespaceOf } from '../../catalog/namespace.js';

/** Of what the filter matches so many are named in the log; the rest is counted. */
const namespacesLoggedMax = 1_000;

/** Tells the log what a migration's filter matches on the source. */
export function logMatched(logger: Logger, catalog: Catalog): void {
  const namespaces = catalog.slice(0, namespacesLoggedMax).map(namespaceOf);
  logger.info({ event: 'filterMatched', matched: catalog.length, namespaces }, 'what the filter matches on the source');
}
