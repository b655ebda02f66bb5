import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ShardingEntry, Sharding as ShardingRequest } from '@convoy/api/contract/sharding';
import type { Document } from 'mongodb';
import { isIdIndex, portableIndex } from '../index-spec.js';
import { isKeyPrefix, type KeyPattern, keyOf } from '../key-pattern.js';
import { isSimpleCollation, supportingIndex } from './index-plan.js';
import { type Catalog, type CatalogEntry, namespaceOf } from '../namespace.js';
import type { NamespaceFilter } from '../namespace-filter.js';

/**
 * From 4.4 on, bytes in the full name of a sharded collection; unsharded ones may have 255 (manual: MongoDB Limits and
 * Thresholds).
 */
const SHARDED_NAMESPACE_BYTES_MAX = 235;

/**
 * Applies the `sharding` document of a start request to the catalog of a replica set: listed collections get their
 * shard key (without chunks), all others stay unsharded. With `createSupportingIndexes`, `planIndexes` plans a
 * placeholder for a missing supporting index; without it, the index must exist.
 *
 * The shard key is never declared unique to the server. A unique index on it is deferred and restored like any other,
 * so the destination's key is unique exactly if the source's is.
 * @throws ConvoyError `shardingEntryInvalid`, `shardingKeyIndexMissing`, `shardingKeyCollation`,
 * `shardingKeyUniqueness` or `shardingIndexIncompatible`, each naming the namespace
 */
export function applyShardingEntries(catalog: Catalog, sharding: ShardingRequest, filter: NamespaceFilter): Catalog {
  const requested = new Map(sharding.shardingEntries.map((entry) => [`${entry.database}.${entry.collection}`, entry]));
  const present = new Set(catalog.map(namespaceOf));
  for (const [namespace, entry] of requested) {
    if (!filter.includes(entry.database, entry.collection)) throw invalidEntry(namespace, 'is excluded by the filter');
    if (!present.has(namespace)) throw invalidEntry(namespace, 'does not exist on the source');
  }
  return catalog.map((entry) => {
    const request = requested.get(namespaceOf(entry));
    return request === undefined ? entry : shardedEntry(entry, request, sharding.createSupportingIndexes);
  });
}

function shardedEntry(entry: CatalogEntry, request: ShardingEntry, createSupportingIndexes: boolean): CatalogEntry {
  const namespace = namespaceOf(entry);
  const key: KeyPattern = new Map(request.shardCollection.key.flatMap((field) => Object.entries(field)));
  checkShardable(namespace, entry);
  const indexes = entry.indexes.map((index) => portableIndex(namespace, index).index);
  if (!createSupportingIndexes) checkSupportingIndex(namespace, key, indexes);
  checkUniqueIndexes(namespace, key, indexes);
  return { ...entry, sharding: { key, unique: false, chunks: [], everMoved: false } };
}

function checkShardable(namespace: string, entry: CatalogEntry): void {
  if (entry.type === 'view') throw invalidEntry(namespace, 'is a view');
  if (entry.options.capped === true) throw invalidEntry(namespace, 'is capped');
  if (entry.name.startsWith('system.')) throw invalidEntry(namespace, 'is a system collection');
  const bytes = Buffer.byteLength(namespace);
  if (bytes > SHARDED_NAMESPACE_BYTES_MAX)
    throw invalidEntry(
      namespace,
      `has a name of ${bytes} bytes, but sharded collections may have ${SHARDED_NAMESPACE_BYTES_MAX}; rename it ` +
        'or leave it unsharded',
    );
}

/**
 * A specification does not show whether an index is multikey; the destination's server refuses arrays in shard keys.
 */
function checkSupportingIndex(namespace: string, key: KeyPattern, indexes: readonly Document[]): void {
  if (supportingIndex(indexes, key, false) !== undefined) return;
  const underCollation = indexes.some((index) => isKeyPrefix(key, keyOf(index)) && !isSimpleCollation(index.collation));
  if (underCollation) {
    throw new ConvoyError(
      'shardingKeyCollation',
      `No index of ${namespace} on the requested shard key has the simple collation; create one on the source.`,
    );
  }
  throw new ConvoyError(
    'shardingKeyIndexMissing',
    `No index of ${namespace} on the source starts with the requested shard key; create one there or set ` +
      'createSupportingIndexes.',
  );
}

function checkUniqueIndexes(namespace: string, key: KeyPattern, indexes: readonly Document[]): void {
  for (const index of indexes) {
    const indexKey = keyOf(index);
    if (index.prepareUnique === true && index.unique !== true && isKeyPrefix(key, indexKey)) {
      throw new ConvoyError(
        'shardingKeyUniqueness',
        `Index ${String(index.name)} of ${namespace} on the requested shard key has prepareUnique but is not ` +
          'unique yet; convert it on the source first.',
      );
    }
    if (index.unique === true && !isIdIndex(index) && !beginsWithFields(indexKey, key)) {
      throw new ConvoyError(
        'shardingIndexIncompatible',
        `The unique index ${String(index.name)} of ${namespace} does not start with the fields of the requested ` +
          'shard key; choose another key or drop the index.',
      );
    }
  }
}

/** The server's rule for unique indexes of sharded collections: they start with the key's fields, or with `_id`. */
function beginsWithFields(indexKey: KeyPattern, shardKey: KeyPattern): boolean {
  const fields = [...indexKey.keys()];
  return fields[0] === '_id' || [...shardKey.keys()].every((field, position) => fields[position] === field);
}

function invalidEntry(namespace: string, what: string): ConvoyError {
  return new ConvoyError('shardingEntryInvalid', `${namespace} of shardingEntries ${what}.`);
}
