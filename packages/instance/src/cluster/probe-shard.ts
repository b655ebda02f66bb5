import { randomBytes } from 'node:crypto';
import { Binary } from 'mongodb';
import type { CallOptions, NodeClient } from './node-client.js';
import { CollectionAbsentError } from './failure.js';
import { openPresent } from './snapshot-read.js';

/** From this release on shards of a cluster show users' data to nobody without `issueDirectShardOperations`. */
export const directRoleRelease = 8;

/** Time for a shard to answer the probing read; a firewall that swallows packets must not hold up the choice. */
const probe_ms = 10_000;

/**
 * Tries what direct access needs: a stream of all changes, and a read by UUID as the copy makes it.
 * @throws the failure that stands in the way
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
      // Who may not read by UUID is refused before the collection is looked for.
      if (!(error instanceof CollectionAbsentError)) throw error;
    },
  );
  await read?.close();
}
