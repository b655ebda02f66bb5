import { BSON, type Document } from 'mongodb';
import type { CallOptions, NodeClient } from '../cluster/node-client.js';
import { metadataDatabase, throwWriteError } from './metadata.js';
import { fenceCollection } from './session-fence.js';

/**
 * Creates the fence collection with one document on each shard: sharded by `_id`, one range per shard. Repeatable.
 * @throws MetadataWriteError when a document could not be written, as while routers do not know the new ranges
 * @param shardIds the destination's shards; a replica set has one document in an unsharded collection
 */
export async function createFence(
  client: NodeClient,
  kind: 'sharded' | 'replicaSet',
  shardIds: readonly string[],
  options: CallOptions,
): Promise<void> {
  const namespace = `${metadataDatabase}.${fenceCollection}`;
  if (kind === 'sharded' && (await isUnsharded(client, namespace, options))) {
    await placeRanges(client, namespace, shardIds, options);
  }
  const updates = shardIds.map((_, index) => ({ q: { _id: index }, u: { $setOnInsert: { fenced: 0 } }, upsert: true }));
  const command = { update: fenceCollection, updates, writeConcern: { w: 'majority' } };
  throwWriteError(await client.command(metadataDatabase, command, options));
}

async function isUnsharded(client: NodeClient, namespace: string, options: CallOptions): Promise<boolean> {
  const reply = await client.command(
    'config',
    { find: 'collections', filter: { _id: namespace, dropped: { $ne: true } }, limit: 1, singleBatch: true },
    options,
  );
  return (reply.cursor as { firstBatch: Document[] }).firstBatch.length === 0;
}

async function placeRanges(
  client: NodeClient,
  namespace: string,
  shardIds: readonly string[],
  options: CallOptions,
): Promise<void> {
  const send = (command: Document): Promise<Document> => client.command('admin', command, options);
  const ranges = shardIds.map((shard, index) => {
    const min = { _id: index === 0 ? new BSON.MinKey() : index };
    const max = { _id: index === shardIds.length - 1 ? new BSON.MaxKey() : index + 1 };
    return { shard, zone: `convoy_fence_${index}`, range: { updateZoneKeyRange: namespace, min, max } };
  });
  await send({ enableSharding: metadataDatabase });
  for (const { shard, zone, range } of ranges) {
    await send({ addShardToZone: shard, zone });
    await send({ ...range, zone });
  }
  await send({ shardCollection: namespace, key: { _id: 1 } });
  for (const { shard, zone, range } of ranges) {
    await send({ ...range, zone: null });
    await send({ removeShardFromZone: shard, zone });
  }
}
