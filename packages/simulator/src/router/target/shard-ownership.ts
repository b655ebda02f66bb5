import type { Timestamp } from 'bson';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { ChunkMap } from '../../config/chunk-map.js';
import type { ShardKeyPattern } from '../../config/shard-key.js';
import type { ShardingCatalog } from '../../config/sharding-catalog.js';
import type { RoutedAccess } from '../../node/command.js';

/** Which documents a shard owns, now or at a cluster time; lets through everything where no chunk has moved. */
export class ShardOwnership implements RoutedAccess {
  constructor(
    private readonly catalog: ShardingCatalog,
    private readonly shard: ClusterShard,
    private readonly time: Timestamp | undefined,
  ) {}

  owns(namespace: string, document: Uint8Array): boolean {
    const collection = this.catalog.collection(namespace);
    if (collection === undefined) return true;
    if (this.time === undefined) {
      return !this.shard.orphanRanges.has(namespace) || this.#isOwner(collection.chunks, collection.key, document);
    }
    if (!collection.chunks.chunks.some((chunk) => chunk.history.length > 1)) return true;
    return this.#isOwner(collection.chunks.at(this.time), collection.key, document);
  }

  #isOwner(
    chunks: ChunkMap,
    key: ShardKeyPattern,
    document: Uint8Array,
  ): boolean {
    return chunks.ownerOf(key.keyOf(document)) === this.shard.id;
  }
}
