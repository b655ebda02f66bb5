import { type Binary, type ObjectId, type Timestamp } from 'bson';
import { DateTime, type Doc } from '../bson/value.js';
import { doc } from '../node/doc-fields.js';
import type { Chunk, ChunkMap } from './chunk-map.js';
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
  readonly chunks: ChunkMap;
}

/** The collection's document in `config.collections`. */
export function collectionDocument(collection: ShardedCollection): Doc {
  const document = doc(
    ['_id', collection.namespace],
    ['lastmodEpoch', collection.epoch],
    ['lastmod', new DateTime(BigInt(collection.changedMs))],
    ['timestamp', collection.timestamp],
    ['uuid', collection.uuid],
    ['key', collection.key.doc],
  );
  if (collection.defaultCollation !== undefined) document.set('defaultCollation', collection.defaultCollation);
  return document.set('unique', collection.unique).set('noBalance', collection.noBalance);
}

/** A chunk's document in `config.chunks`. */
export function chunkDocument(collection: ShardedCollection, chunk: Chunk): Doc {
  return doc(
    ['_id', chunk.id],
    ['uuid', collection.uuid],
    ['min', collection.key.boundDocument(chunk.min)],
    ['max', collection.key.boundDocument(chunk.max)],
    ['shard', chunk.shard],
    ['lastmod', chunk.version],
    ['history', chunk.history.map((owner) => doc(['validAfter', owner.validAfter], ['shard', owner.shard]))],
  );
}

/** The collection's document in a shard's `config.cache.collections`. */
export function cachedCollectionDocument(collection: ShardedCollection): Doc {
  const document = doc(
    ['_id', collection.namespace],
    ['epoch', collection.epoch],
    ['timestamp', collection.timestamp],
    ['uuid', collection.uuid],
    ['key', collection.key.doc],
  );
  if (collection.defaultCollation !== undefined) document.set('defaultCollation', collection.defaultCollation);
  return document
    .set('unique', collection.unique)
    .set('refreshing', false)
    .set('lastRefreshedCollectionVersion', collection.chunks.version());
}

