import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { indexObstacle, isIdIndex } from '../catalog/index-spec.js';
import { namespaceOf } from '../catalog/namespace.js';
import type { CatalogReport } from '../catalog/read-catalog.js';
import { nameSome } from './name-some.js';

/**
 * Whether everything that is included can be migrated.
 * @throws ConvoyError `timeSeriesNotSupported`, `inconsistentIndexes`, `indexNotSupported` or `collectionNotSupported`,
 * naming the first few namespaces
 */
export function checkSourceCatalog(report: CatalogReport): void {
  if (report.timeSeries.length > 0) {
    throw new ConvoyError('timeSeriesNotSupported', `The source has time-series collections: ${nameSome(report.timeSeries)}. They are not supported; exclude them.`);
  }
  if (report.inconsistentIndexes.length > 0) {
    const named = report.inconsistentIndexes.map(({ namespace, index, shards }) => `${index} of ${namespace} (differs on ${shards.join(', ')})`);
    throw new ConvoyError('inconsistentIndexes', `The shards of the source do not agree on indexes: ${nameSome(named)}. Make them equal first.`);
  }
  checkShardKeys(report);
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

function describeObstacle(namespace: string, index: Document): string[] {
  const obstacle = indexObstacle(index);
  return obstacle === null ? [] : [`${String(index.name)} of ${namespace}: ${obstacle}`];
}
