import { createHash } from 'node:crypto';
import { canonicalText } from './canonical-text.js';
import { ownershipRanges } from './chunk-ranges.js';
import type { Catalog, CatalogEntry } from './namespace.js';

/**
 * Digest (SHA-256, hexadecimal) of a catalog: namespaces, UUIDs, options, indexes, shard keys and owners. Two reads
 * have the same digest exactly if no DDL happened between them. Sizes, and chunk splits without a move, do not count.
 */
export function fingerprint(catalog: Catalog): string {
  const hash = createHash('sha256');
  for (const entry of catalog) hash.update(canonicalText(ddlChangeOf(entry))).update('\n');
  return hash.digest('hex');
}

function ddlChangeOf(entry: CatalogEntry): Record<string, unknown> {
  const { database, name, type, uuid, options, indexes, sharding, primaryShard } = entry;
  return {
    database,
    name,
    type,
    uuid,
    primaryShard,
    options: canonicalText(options),
    indexes: indexes.map(canonicalText).sort(),
    sharding:
      sharding === null
        ? null
        : { key: sharding.key, unique: sharding.unique, owners: ownershipRanges(sharding.chunks) },
  };
}
