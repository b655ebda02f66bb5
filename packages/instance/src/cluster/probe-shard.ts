import { randomBytes } from 'node:crypto';
import { Binary, type Document } from 'mongodb';
import type { CallOptions, NodeClient } from './node-client.js';
import { codeOf, CollectionAbsentError, unauthorizedCode } from './failure.js';
import { openPresent } from './range-read.js';

/** From this release on, shards of a cluster show users' data only with the privilege `issueDirectShardOperations`. */
export const directRoleRelease = 8;

/** What a user needs to read shards of a cluster without its router, from 8.0 on. */
export const directAction = 'issueDirectShardOperations';

/** The shard's user may not read it without the router. */
export class DirectRoleMissingError extends Error {
  override readonly name = 'DirectRoleMissingError';
}

/** Time limit of the test read on a shard; a firewall that drops packets must not delay the choice. */
const probe_ms = 10_000;
/** Servers check the privilege for direct reads before they look for the collection. */
const probedDatabase = 'convoy_metadata';

/**
 * Tries what direct access needs: a stream of all changes, and a read by UUID as the copy does it. From 8.0 on it also
 * reads by name: servers check the privilege for direct reads where they open a namespace of users. A stream opens the
 * oplog, and a UUID that does not exist opens nothing (server source: direct_connection_util.cpp).
 * @param release the major release of the cluster
 * @throws DirectRoleMissingError without that privilege; otherwise the failure that prevents direct access
 */
export async function probeShard(client: NodeClient, release: number, options: CallOptions): Promise<void> {
  const limited = { ...options, maxTime_ms: probe_ms };
  const stream = await client.openCursor(
    'admin',
    { aggregate: 1, pipeline: [{ $changeStream: { allChangesForCluster: true } }], cursor: { batchSize: 0 } },
    limited,
  );
  await stream.close();
  const collection = new Binary(randomBytes(16), Binary.SUBTYPE_UUID);
  const read = await openPresent(client, probedDatabase, { find: collection, limit: 1 }, limited).catch(
    (error: unknown) => {
      // The server checks the privilege to read by UUID before it looks for the collection.
      if (!(error instanceof CollectionAbsentError)) throw error;
    },
  );
  await read?.close();
  if (release >= directRoleRelease) await probeRole(client, limited);
}

/** A cluster of one shard refuses the read only once it has another. So the privilege itself counts. */
async function probeRole(client: NodeClient, options: CallOptions): Promise<void> {
  try {
    const read = await client.openCursor(probedDatabase, { find: 'probe', limit: 1 }, options);
    await read.close();
  } catch (error) {
    if (codeOf(error) === unauthorizedCode) throw new DirectRoleMissingError('refused', { cause: error });
    throw error;
  }
  const { authInfo } = await client.command('admin', { connectionStatus: 1, showPrivileges: true }, options);
  if (!mayReadDirectly((authInfo as Document | undefined) ?? {})) throw new DirectRoleMissingError('not granted');
}

/** Without access control nobody is logged in, and everything is allowed. */
function mayReadDirectly({ authenticatedUsers = [], authenticatedUserPrivileges = [] }: Document): boolean {
  if ((authenticatedUsers as unknown[]).length === 0) return true;
  return (authenticatedUserPrivileges as { resource: Document; actions: string[] }[]).some(
    ({ resource, actions }) =>
      (resource.cluster === true || resource.anyResource === true) &&
      (actions.includes(directAction) || actions.includes('anyAction')),
  );
}
