import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { indexObstacle, isIdIndex } from '../catalog/index-spec.js';
import { nameSome } from '../catalog/name-some.js';
import { namespaceOf } from '../catalog/namespace.js';
import type { CatalogReport } from '../catalog/read/read-catalog.js';
import { storedEntry } from '../catalog/stored-catalog.js';
import { refuseUnsupported } from '../catalog/read/unsupported-collections.js';

/** Of a document's 16 MB, what is left for an entry beside its own fields. */
const ENTRY_BYTES_MAX = 15 * 2 ** 20;
/** So few chunks take less than that, whatever their bounds are. */
const CHUNKS_UNMEASURED_MAX = 1_000;

/**
 * Whether everything that is included can be migrated.
 * @throws ConvoyError `timeSeriesNotSupported`, `inconsistentIndexes`, `indexNotSupported` or `collectionNotSupported`,
 * naming the first few namespaces
 */
export function checkSourceCatalog(report: CatalogReport): void {
  refuseUnsupported(report);
  if (report.inconsistentIndexes.length > 0) {
    const named = report.inconsistentIndexes.map(({ namespace, index, shards }) => `${index} of ${namespace} (differs on ${shards.join(', ')})`);
    throw new ConvoyError('inconsistentIndexes', `The shards of the source do not agree on indexes: ${nameSome(named)}. Make them equal first.`);
  }
  checkShardKeys(report);
  checkStorable(report);
  const obstacles = report.catalog.flatMap((entry) =>
    entry.indexes.filter((index) => !isIdIndex(index)).flatMap((index) => describeObstacle(namespaceOf(entry), index)),
  );
  if (obstacles.length > 0) {
    throw new ConvoyError('indexNotSupported', `The destination cannot hold indexes of the source: ${nameSome(obstacles)}. Drop them or exclude their collections.`);
  }
}

function checkShardKeys(report: CatalogReport): void {
  const affected = report.catalog.filter((entry) => entry.sharding !== null && indexObstacle({ key: entry.sharding.key }) !== null);
  if (affected.length === 0) return;
  throw new ConvoyError('collectionNotSupported', `Compound shard keys with a field named by a whole number are not supported: ${nameSome(affected.map(namespaceOf))}. Exclude them.`);
}

/** The catalog's entry of a collection, its chunks included, is one document of the metadata database. */
function checkStorable(report: CatalogReport): void {
  const affected = report.catalog.filter((entry) => (entry.sharding?.chunks.length ?? 0) > CHUNKS_UNMEASURED_MAX && storedEntry(entry).length() > ENTRY_BYTES_MAX);
  if (affected.length === 0) return;
  const named = affected.map((entry) => `${namespaceOf(entry)} (${entry.sharding?.chunks.length ?? 0} chunks)`);
  throw new ConvoyError('collectionNotSupported', `These collections have more chunks than can be kept track of: ${nameSome(named)}. Merge chunks with mergeChunks or mergeAllChunksOnShard, or exclude them.`);
}

function describeObstacle(namespace: string, index: Document): string[] {
  const obstacle = indexObstacle(index);
  return obstacle === null ? [] : [`${String(index.name)} of ${namespace}: ${obstacle}`];
}
