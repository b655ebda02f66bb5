import type { Logger } from 'pino';
import { type Catalog, namespaceOf } from '../../catalog/namespace.js';

/** The log names this many of the matched namespaces, and counts the rest. */
const namespacesLoggedMax = 1_000;

/** Logs what a migration's filter matches on the source. */
export function logMatched(logger: Logger, catalog: Catalog): void {
  const namespaces = catalog.slice(0, namespacesLoggedMax).map(namespaceOf);
  logger.info(
    { event: 'filterMatched', matched: catalog.length, namespaces },
    'namespaces of the source that the filter matches',
  );
}
