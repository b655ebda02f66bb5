import { type Binary, type ObjectId, type Timestamp } from 'bson';
import type { Doc } from '../bson/value.js';
import type { ChunkMap } from './chunk-map.js';
import type { ShardKeyPattern } from './shard-key.js';

/** Settings of the balancer for one collection. */
interface CollectionBalancing {
  /** Bytes of a range, instead of the cluster's. */
  readonly chunkBytesMax?: number | undefined;
  /** False when its chunks are not to be merged by themselves (7.0). */
  readonly mergesAutomatically?: boolean;
}

/** A sharded collection as the config server knows it. */
export interface ShardedCollection {
  readonly namespace: string;
  readonly uuid: Binary;
  readonly key: ShardKeyPattern;
  readonly unique: boolean;
  readonly defaultCollation: Doc | undefined;
  readonly epoch: ObjectId;
  readonly timestamp: Timestamp;
  readonly changedMs: number;
  readonly noBalance: boolean;
  /** What `configureCollectionBalancing` has set. */
  readonly balancing?: CollectionBalancing;
  readonly chunks: ChunkMap;
}
