import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { nameSome } from '../name-some.js';
import type { Catalog } from '../namespace.js';
import { namespaceOf } from '../namespace.js';
import type { CatalogReport } from './read-catalog.js';

/**
 * Refuses included collections of kinds that cannot be followed, whenever they turn up.
 * @throws ConvoyError `timeSeriesNotSupported` or `collectionNotSupported`, naming the first few
 */
export function refuseUnsupported({ timeSeries, catalog }: Pick<CatalogReport, 'timeSeries' | 'catalog'>): void {
  if (timeSeries.length > 0) {
    throw new ConvoyError('timeSeriesNotSupported', `The source has time-series collections: ${nameSome(timeSeries)}. Servers show no changes of them, so that they cannot be followed; exclude them and move them by mongodump and mongorestore.`);
  }
  const encrypted = encryptedIn(catalog);
  if (encrypted.length === 0) return;
  throw new ConvoyError('collectionNotSupported', `The source has collections with queryable encryption: ${nameSome(encrypted)}. Servers take their documents only from clients that encrypt them; exclude them.`);
}

function encryptedIn(catalog: Catalog): string[] {
  return catalog.filter((entry) => entry.options.encryptedFields !== undefined).map(namespaceOf);
}
