import { LISTED_COLLECTIONS_MAX, type PublishedDetails } from '@convoy/api/fleet/published-details';
import type { NodeClient } from '../../cluster/node-client.js';
import { mapBounded } from '../../async/together.js';
import { compileNamespaceFilter } from '../namespace-filter.js';
import { listNamespaces } from './list-namespaces.js';
import { readSize } from './read-sizes.js';

/** Sizes read at the same time: enough to hide the round trips, little load for a production cluster. */
const SIZES_PARALLEL = 4;

type Listing = Pick<PublishedDetails['sourceListing'], 'rows' | 'unlisted'>;

/** A cluster's collections with their estimated sizes, the largest first; without views. Only reads. */
export async function listSource(router: NodeClient, signal: AbortSignal): Promise<Listing> {
  const all = compileNamespaceFilter({ includeNamespaces: [], excludeNamespaces: [] });
  const found = (await listNamespaces(router, all, signal)).filter(({ type }) => type !== 'view');
  const rows = await mapBounded(found.slice(0, LISTED_COLLECTIONS_MAX), SIZES_PARALLEL, async ({ database, name }) => {
    const { sizeBytes, documentCount } = await readSize(router, database, name, signal);
    return { database, collection: name, totalBytes: sizeBytes, documents: documentCount };
  });
  return { rows: rows.sort((a, b) => b.totalBytes - a.totalBytes), unlisted: found.length - rows.length };
}
