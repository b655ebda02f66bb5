import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import type { Catalog, CatalogEntry } from '../catalog/namespace.js';
import { nameSome } from '../catalog/name-some.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { loggedIn } from './check-user.js';
import { covers } from './required-privileges.js';

/** What only some collections need, beyond what every migration does. */
interface CatalogNeed {
  /** Whose user needs it. */
  side: 'source' | 'destination';
  actions: readonly string[];
  /** The collections that need it. */
  of: (entry: CatalogEntry) => boolean;
  /** Privileges on every database leave system collections out. */
  collection: string | null;
}

const functions = 'system.js';
const isFunctions = ({ name }: CatalogEntry): boolean => name === functions;

const needs: readonly CatalogNeed[] = [
  // `create` of a capped collection asks for it; `readWriteAnyDatabase` has it.
  {
    side: 'destination',
    actions: ['convertToCapped'],
    of: ({ options }) => options.capped === true,
    collection: null,
  },
  { side: 'source', actions: ['find'], of: isFunctions, collection: functions },
  { side: 'destination', actions: ['find', 'insert', 'update', 'remove'], of: isFunctions, collection: functions },
];

/**
 * Checks the privileges that only some collections need: capped ones, and `system.js`.
 * @param catalog the source's
 * @param planned the same under the names on the destination
 * @throws ConvoyError `permissionMissing`, which names actions, resources and collections
 */
export async function checkCatalogPrivileges(
  clusters: { source: ClusterClient; destination: ClusterClient },
  catalog: Catalog,
  planned: Catalog,
  signal: AbortSignal,
): Promise<void> {
  for (const { side, actions, of, collection } of needs) {
    const cluster = clusters[side];
    const entries = (side === 'source' ? catalog : planned).filter(of);
    if (entries.length === 0) continue;
    const user = await loggedIn(cluster.router, signal);
    if (user === null) continue;
    const lacking = entries.filter(({ database, name }) =>
      actions.some((action) => !isGranted(user.privileges, action, { database, name, isSystem: collection !== null })),
    );
    if (lacking.length === 0) continue;
    const where = collection === null ? 'every database' : `${collection} of every database`;
    const named = nameSome(lacking.map(({ database, name }) => `${database}.${name}`));
    throw new ConvoyError(
      'permissionMissing',
      `The user of ${cluster.name} lacks ${actions.join(', ')} on ${where}, which ${named} needs. Grant it: ` +
        `{resource: {db: "", collection: "${collection ?? ''}"}, actions: ${JSON.stringify(actions)}}. Or exclude it.`,
    );
  }
}

function isGranted(
  privileges: readonly Document[],
  action: string,
  { database, name, isSystem }: { database: string; name: string; isSystem: boolean },
): boolean {
  return privileges.some(({ resource, actions }) => {
    const of = resource as Document;
    const has = (actions as string[]).includes(action) || (actions as string[]).includes('anyAction');
    if (!has) return false;
    if (covers(of, 'everyDatabase')) return !isSystem || of.anyResource === true;
    const inDatabase = of.db === '' || of.db === database;
    return inDatabase && (of.collection === name || (of.collection === '' && !isSystem));
  });
}
