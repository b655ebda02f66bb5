import { ConvoyError } from '@convoy/api/errors/convoy-error';
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
    const named = report.inconsistentIndexes.map(
      ({ namespace, index, shards }) => `${index} of ${namespace} (differs on ${shards.join(', ')})`,
    );
    throw new ConvoyError(
      'inconsistentIndexes',
      `The shards of the source do not agree on indexes: ${nameSome(named)}. Make them equal first.`,
    );
  }
  checkStorable(report);
}

/** The catalog's entry of a collection, its chunks included, is one document of the metadata database. */
function checkStorable(report: CatalogReport): void {
  const affected = report.catalog.filter(
    (entry) =>
      (entry.sharding?.chunks.length ?? 0) > CHUNKS_UNMEASURED_MAX && storedEntry(entry).length() > ENTRY_BYTES_MAX,
  );
  if (affected.length === 0) return;
  const named = affected.map((entry) => `${namespaceOf(entry)} (${entry.sharding?.chunks.length ?? 0} chunks)`);
  throw new ConvoyError(
    'collectionNotSupported',
    `These collections have more chunks than can be kept track of: ${nameSome(named)}. Merge chunks with mergeChunks or mergeAllChunksOnShard, or exclude them.`,
  );
}
