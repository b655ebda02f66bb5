import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { nameSome } from '../catalog/name-some.js';
import { namespaceOf } from '../catalog/namespace.js';
import { type ChosenIndex, type IndexChoices, withChosenIndexes } from '../catalog/chosen-indexes.js';
import type { CatalogReport } from '../catalog/read-catalog.js';
import { storedEntry } from '../catalog/catalog-bytes.js';
import { refuseTimeSeries, refuseUnsupported } from '../catalog/unsupported-collections.js';

/** The part of a document's 16 MB that chunks may use; the rest is for the entry's other fields. */
const ENTRY_BYTES_MAX = 15 * 2 ** 20;
/** This many chunks always fit, whatever their bounds are. */
const CHUNKS_UNMEASURED_MAX = 1_000;

/**
 * Checks whether everything included can be migrated.
 * @param report as read
 * @returns the same with the indexes that count, and those for which a choice of the user does
 * @throws ConvoyError `timeSeriesNotSupported`, `inconsistentIndexes`, `indexNotSupported` or `collectionNotSupported`,
 * naming the first few namespaces
 */
export function checkSourceCatalog(
  read: CatalogReport,
  choices: IndexChoices = {},
): ReturnType<typeof withChosenIndexes<CatalogReport>> {
  const result = withChosenIndexes(read, choices);
  const { report, chosen } = result;
  refuseTimeSeries(report);
  refuseUnsupported(report);
  if (report.inconsistentIndexes.length > 0) {
    const named = report.inconsistentIndexes.map(
      ({ namespace, index, shards }) => `${index} of ${namespace} (differs on ${shards.join(', ')})`,
    );
    throw new ConvoyError(
      'inconsistentIndexes',
      `Indexes differ between shards of the source: ${nameSome(named)}. Make them equal first, or set indexConflicts.`,
    );
  }
  refuseChoices(chosen);
  checkStorable(report);
  return result;
}

/** Some indexes cannot be left out, and without a majority nothing is taken. */
function refuseChoices(chosen: readonly ChosenIndex[]): void {
  const refused = chosen.flatMap(({ namespace, index, description, refusal }) =>
    refusal === null ? [] : [`${index} of ${namespace} (${description}, but ${refusal})`],
  );
  if (refused.length === 0) return;
  throw new ConvoyError(
    'inconsistentIndexes',
    `indexConflicts cannot decide about these indexes: ${nameSome(refused)}. Make them equal first.`,
  );
}

/** The catalog entry of a collection, including its chunks, is one document of the metadata database. */
function checkStorable(report: CatalogReport): void {
  const affected = report.catalog.filter(
    (entry) =>
      (entry.sharding?.chunks.length ?? 0) > CHUNKS_UNMEASURED_MAX && storedEntry(entry).length() > ENTRY_BYTES_MAX,
  );
  if (affected.length === 0) return;
  const named = affected.map((entry) => `${namespaceOf(entry)} (${entry.sharding?.chunks.length ?? 0} chunks)`);
  throw new ConvoyError(
    'collectionNotSupported',
    `These collections have too many chunks for one metadata document: ${nameSome(named)}. Merge chunks with ` +
      'mergeChunks or mergeAllChunksOnShard, or exclude the collections.',
  );
}
