import { randomBytes } from 'node:crypto';
import { Binary } from 'mongodb';
import type { CallOptions, NodeClient } from './node-client.js';
import { CollectionAbsentError } from './failure.js';
import { openPresent } from './snapshot-read.js';

/** From this release on, shards of a cluster show users' data only with the privilege `issueDirectShardOperations`. */
export const directRoleRelease = 8;

/** Time limit of the test read on a shard; a firewall that drops packets must not delay the choice. */
const probe_ms = 10_000;

/**
 * Tries what direct access needs: a stream of all changes, and a read by UUID as the copy does it.
 * @throws the failure that prevents it
 */
export async function probeShard(client: NodeClient, options: CallOptions): Promise<void> {
  const limited = { ...options, maxTime_ms: probe_ms };
  const stream = await client.openCursor(
    'admin',
    { aggregate: 1, pipeline: [{ $changeStream: { allChangesForCluster: true } }], cursor: { batchSize: 0 } },
    limited,
  );
  await stream.close();
  const collection = new Binary(randomBytes(16), Binary.SUBTYPE_UUID);
  const read = await openPresent(client, 'convoy_metadata', { find: collection, limit: 1 }, limited).catch(
    (error: unknown) => {
      // The server checks the privilege to read by UUID before it looks for the collection.
      if (!(error instanceof CollectionAbsentError)) throw error;
    },
  );
  await read?.close();
}
