import { type Binary, type ObjectId, type Timestamp } from 'bson';
import type { Doc } from '../bson/value.js';
import type { ChunkMap } from './chunk-map.js';
import type { ShardKeyPattern } from './shard-key.js';

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
  /** Of buckets: how measurements are divided, as `listCollections` shows it (`timeseriesFields`). */
  readonly timeseries?: Doc | undefined;
  readonly chunks: ChunkMap;
}
