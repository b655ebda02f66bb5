import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Catalog } from '../catalog/namespace.js';
import type { NamespaceRemap } from '../catalog/namespace-remap.js';
import { readCursor } from '../catalog/list-namespaces.js';
import type { ClusterClient } from '../cluster/node-client.js';

/** Where a database stores the functions of its users. */
const functionsCollection = 'system.js';

/**
 * Compares the functions of both sides once all sync tasks have drained. Change streams do not show `system.*`
 * collections, so changes to `system.js` after its copy are missing. Functions are few and small.
 * @throws ConvoyError `ddlNotSupported` naming the databases whose functions differ; otherwise what the clients throw
 */
export async function refuseFunctionChanges(
  source: ClusterClient,
  destination: ClusterClient,
  catalog: Catalog,
  remap: NamespaceRemap,
  signal: AbortSignal,
): Promise<void> {
  const changed: string[] = [];
  for (const { database, name } of catalog) {
    if (name !== functionsCollection) continue;
    const [wanted, found] = await Promise.all([
      readFunctions(source, database, signal),
      readFunctions(destination, remap.toDestination({ database, name }).database, signal),
    ]);
    if (wanted.join() !== found.join()) changed.push(database);
  }
  if (changed.length === 0) return;
  throw new ConvoyError(
    'ddlNotSupported',
    `Functions in system.js were changed after Convoy copied them: ${changed.join(', ')}. Change streams do not ` +
      'show such changes. Start anew, or exclude system.js and copy it by hand.',
  );
}

/** All functions in order of `_id`, each as the text of its bytes. */
async function readFunctions(cluster: ClusterClient, database: string, signal: AbortSignal): Promise<string[]> {
  const command = { find: functionsCollection, sort: { _id: 1 }, readConcern: { level: 'majority' } };
  return readCursor(cluster.router, database, command, (bytes) => Buffer.from(bytes).toString('base64'), signal);
}
