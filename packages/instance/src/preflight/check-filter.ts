import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';

/** Databases that belong to a cluster itself. */
const serverDatabases: ReadonlySet<string> = new Set(['admin', 'config', 'local']);

/**
 * A filter that names a database of the servers asks for collections that would stay behind without a word. A pattern
 * that matches one among others leaves it out.
 * @throws ConvoyError `filterNamesServerDatabase`
 */
export function refuseServerDatabases({ includeNamespaces }: Pick<StartRequest, 'includeNamespaces'>): void {
  for (const { database, collections = [] } of includeNamespaces) {
    if (database === undefined || !serverDatabases.has(database)) continue;
    const named = collections.length === 0 ? database : collections.map((name) => `${database}.${name}`).join(', ');
    throw new ConvoyError(
      'filterNamesServerDatabase',
      `includeNamespaces names ${named}. The databases admin, config and local belong to the cluster itself: their ` +
        'collections mean something else on another cluster, and Convoy does not migrate them. Copy what users have ' +
        'put there with mongodump and mongorestore; GET /api/v1/inventory lists it.',
    );
  }
}
