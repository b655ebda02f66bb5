import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ShardingEntry, Sharding as ShardingRequest } from '@convoy/api/contract/sharding';
import type { Document } from 'mongodb';
import { isIdIndex, portableIndex } from '../index-spec.js';
import { isKeyPrefix, type KeyPattern, keyOf } from '../key-pattern.js';
import { isSimpleCollation, supportingIndex } from './index-plan.js';
import type { Catalog, CatalogEntry } from '../namespace.js';
import { namespaceOf } from '../namespace.js';
import type { NamespaceFilter } from '../namespace-filter.js';

/** From 4.4 on, names of sharded collections with their database; unsharded ones may have 255 bytes (manual: MongoDB Limits and Thresholds). */
const SHARDED_NAMESPACE_BYTES_MAX = 235;

/**
 * Lays the `sharding` document of a start request over the catalog of a replica set: listed collections get their shard
 * key (without chunks), all others stay unsharded. With `createSupportingIndexes` a missing supporting index is planned
 * as a placeholder by `planIndexes`; without it, it has to be there.
 *
 * The shard key is never declared unique to the server: a unique index on it is deferred and restored like any other,
 * so that it is unique on the destination exactly when it is on the source.
 * @throws ConvoyError `shardingEntryInvalid`, `shardingKeyIndexMissing`, `shardingKeyCollation`, `shardingKeyUniqueness`
 * or `shardingIndexIncompatible`, each naming the namespace
 */
export function applyShardingEntries(catalog: Catalog, sharding: ShardingRequest, filter: NamespaceFilter): Catalog {
  const requested = new Map(sharding.shardingEntries.map((entry) => [`${entry.database}.${entry.collection}`, entry]));
  const present = new Set(catalog.map(namespaceOf));
  for (const [namespace, entry] of requested) {
    if (!filter.includes(entry.database, entry.collection)) throw invalidEntry(namespace, 'is left out by the filter');
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
      `has a name of ${bytes} bytes, of which sharded collections may have ${SHARDED_NAMESPACE_BYTES_MAX}; rename it or leave it unsharded`,
    );
}

/** Multikey indexes cannot be told from their specification; the destination's server refuses arrays in shard keys. */
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
    `${namespace} has no index on the source that begins with the requested shard key; create it there or set createSupportingIndexes.`,
  );
}

function checkUniqueIndexes(namespace: string, key: KeyPattern, indexes: readonly Document[]): void {
  for (const index of indexes) {
    const indexKey = keyOf(index);
    if (index.prepareUnique === true && index.unique !== true && isKeyPrefix(key, indexKey)) {
      throw new ConvoyError(
        'shardingKeyUniqueness',
        `Index ${String(index.name)} of ${namespace} on the requested shard key is prepared to be unique but not yet unique; convert it on the source first.`,
      );
    }
    if (index.unique === true && !isIdIndex(index) && !beginsWithFields(indexKey, key)) {
      throw new ConvoyError(
        'shardingIndexIncompatible',
        `The unique index ${String(index.name)} of ${namespace} does not begin with the fields of the requested shard key; choose another key or drop the index.`,
      );
    }
  }
}

/** The server's rule for unique indexes of sharded collections: they begin with the key's fields, or with `_id`. */
function beginsWithFields(indexKey: KeyPattern, shardKey: KeyPattern): boolean {
  const fields = [...indexKey.keys()];
  return fields[0] === '_id' || [...shardKey.keys()].every((field, position) => fields[position] === field);
}

function invalidEntry(namespace: string, what: string): ConvoyError {
  return new ConvoyError('shardingEntryInvalid', `${namespace} of shardingEntries ${what}.`);
}
