import { Binary, UUID } from 'bson';
import type { Chunk } from '../../config/chunk-map.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { ShardingCatalog } from '../../config/sharding-catalog.js';
import { doc } from '../../node/doc-fields.js';

/** Both shards of a move. */
export interface Ways {
  readonly from: ClusterShard;
  readonly to: ClusterShard;
}

const coordinators = 'migrationCoordinators';

/**
 * Shows a move on the donor while it is under way: among its operations, and since 8.0 in its `config` (seen on
 * 8.0.10; of 6.0 and 7.0 it was not looked up).
 * @returns ends it
 */
export async function showMove(
  catalog: ShardingCatalog,
  namespace: string,
  { min, max }: Chunk,
  { from, to }: Ways,
): Promise<() => Promise<void>> {
  const { key, uuid } = catalog.sharded(namespace);
  const range = { min: key.boundDocument(min), max: key.boundDocument(max) };
  const end = from.access.beginMove({ namespace, to: to.id, ...range });
  if (!catalog.version.atLeast(8, 0))
    return () => {
      end();
      return Promise.resolve();
    };
  const id = new Binary(new UUID().buffer, Binary.SUBTYPE_UUID);
  await from.cache.put(
    coordinators,
    doc(
      ['_id', id],
      ['nss', namespace],
      ['collectionUuid', uuid],
      ['donorShardId', from.id],
      ['recipientShardId', to.id],
      ['range', doc(['min', range.min], ['max', range.max])],
    ),
  );
  return async () => {
    end();
    if (from.node.up) await from.cache.remove(coordinators, doc(['_id', id]));
  };
}
