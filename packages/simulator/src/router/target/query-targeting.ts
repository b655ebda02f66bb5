import type { ShardedCollection } from '../../config/sharded-collection.js';
import type { ChunkMap } from '../../config/chunk-map.js';
import { equalityFields } from '../../query/bounds.js';
import { DateTime, type Doc, type Value } from '../../bson/value.js';
import { Binary, Double, Int32, Long, ObjectId, Timestamp } from 'bson';
import { docOf } from '../../node/doc-fields.js';

/** What a query's filter says about where its documents are. */
export interface QueryTarget {
  readonly shards: readonly string[];
  /** True when the filter fixes the whole shard key. */
  readonly exactKey: boolean;
}

/**
 * The shards that can hold documents of a filter.
 * @param collation of the command; strings compared under a collation other than simple say nothing about the shard key
 * @param chunks owners to go by, the present ones unless a time is read
 */
export function targetQuery(
  collection: ShardedCollection,
  filter: Doc,
  collation: Value | undefined,
  chunks: ChunkMap = collection.chunks,
): QueryTarget {
  const values = fixedValues(collection, filter, isSimple(collection, collation));
  const key = collection.key.keyFrom(values);
  if (key !== undefined) return { shards: [chunks.ownerOf(key)], exactKey: true };
  const prefix = collection.key.prefixFrom(values);
  if (prefix.length === 0) return { shards: chunks.shards, exactKey: false };
  return { shards: [...new Set(chunks.withPrefix(prefix).map((chunk) => chunk.shard))].sort(), exactKey: false };
}

function isSimple(collection: ShardedCollection, collation: Value | undefined): boolean {
  const asked = docOf(collation);
  return asked === undefined ? collection.defaultCollation === undefined : asked.get('locale') === 'simple';
}

function fixedValues(collection: ShardedCollection, filter: Doc, simple: boolean): ReadonlyMap<string, Value> {
  if (collection.key.fields.every((field) => isPlain(filter.get(field), simple))) return filter;
  const values = equalityFields(filter);
  if (simple) return values;
  return new Map([...values].filter(([, value]) => isPlain(value, false)));
}

/** True for values that can only mean equality, so that the filter need not be analysed. */
function isPlain(value: Value | undefined, simple: boolean): boolean {
  return (
    value instanceof ObjectId ||
    value instanceof Int32 ||
    value instanceof Long ||
    value instanceof Double ||
    value instanceof Binary ||
    value instanceof DateTime ||
    value instanceof Timestamp ||
    typeof value === 'boolean' ||
    (simple && typeof value === 'string')
  );
}
