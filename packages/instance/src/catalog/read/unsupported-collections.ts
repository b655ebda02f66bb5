import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { RawValue } from '../../bson/scan.js';
import { indexObstacle, isIdIndex } from '../index-spec.js';
import { nameSome } from '../name-some.js';
import type { Catalog } from '../namespace.js';
import { namespaceOf } from '../namespace.js';
import type { CatalogReport } from './read-catalog.js';

/**
 * Refuses included collections and indexes of kinds that cannot be followed, whenever they turn up.
 * @throws ConvoyError `timeSeriesNotSupported`, `collectionNotSupported` or `indexNotSupported`, naming the first few
 */
export function refuseUnsupported({ timeSeries, catalog }: Pick<CatalogReport, 'timeSeries' | 'catalog'>): void {
  if (timeSeries.length > 0) {
    throw new ConvoyError(
      'timeSeriesNotSupported',
      `The source has time-series collections: ${nameSome(timeSeries)}. Servers show no changes of them, so that they cannot be followed; exclude them and move them by mongodump and mongorestore.`,
    );
  }
  const encrypted = encryptedIn(catalog);
  if (encrypted.length > 0) {
    throw new ConvoyError(
      'collectionNotSupported',
      `The source has collections with queryable encryption: ${nameSome(encrypted)}. Servers take their documents only from clients that encrypt them; exclude them.`,
    );
  }
  const unsendable = catalog
    .filter(({ options }) => Object.values(options).some((value) => value instanceof RawValue))
    .map(namespaceOf);
  if (unsendable.length > 0) {
    throw new ConvoyError(
      'collectionNotSupported',
      `The validators or pipelines of ${nameSome(unsendable)} hold values that Convoy cannot send in a command: dates beyond the year 275760, DBPointers, or texts that are no UTF-8. Change or exclude them.`,
    );
  }
  refuseObstacles(catalog);
}

function refuseObstacles(catalog: Catalog): void {
  const obstacles = catalog.flatMap((entry) =>
    entry.indexes.filter((index) => !isIdIndex(index)).flatMap((index) => describeObstacle(namespaceOf(entry), index)),
  );
  if (obstacles.length === 0) return;
  throw new ConvoyError(
    'indexNotSupported',
    `The destination cannot hold indexes of the source: ${nameSome(obstacles)}. Drop them or exclude their collections.`,
  );
}

function describeObstacle(namespace: string, index: Document): string[] {
  const obstacle = indexObstacle(index);
  return obstacle === null ? [] : [`${String(index.name)} of ${namespace}: ${obstacle}`];
}

function encryptedIn(catalog: Catalog): string[] {
  return catalog.filter((entry) => entry.options.encryptedFields !== undefined).map(namespaceOf);
}
