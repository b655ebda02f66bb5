import { catalogChanges } from '../../catalog/catalog-changes.js';
import type { Catalog, CatalogEntry } from '../../catalog/namespace.js';
import { namespaceOf } from '../../catalog/namespace.js';
import type { NamespaceRemap } from '../../catalog/namespace-remap.js';
import { withChosenIndexes } from '../../catalog/plan/chosen-indexes.js';
import { holdsDocuments } from '../../catalog/read/holds-documents.js';
import { readCatalogReport } from '../../catalog/read/read-catalog.js';
import { refuseUnsupported } from '../../catalog/read/unsupported-collections.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { MigrationRecord } from '../../store/migration-record.js';
import { type BothClusters, filterOf, remapOf } from './migration-dependencies.js';

/**
 * The source's catalog now, if since the commit time collections only moved to other shards: `movePrimary` creates the
 * unsharded ones of a database anew, with other UUIDs and the same documents, and drops the former ones. Streams show
 * the creations and drops, not the documents. A collection that a user has dropped and created again has documents only
 * by writes that streams show. So one with documents, and no such write, was moved.
 * @param record of a committed migration, or of one that is about to be
 * @param committed the source's catalog at the commit time
 * @returns null when users have changed definitions, or have emptied a collection
 */
export async function movedCatalog(
  clusters: BothClusters,
  record: MigrationRecord,
  committed: Catalog,
  signal: AbortSignal,
): Promise<Catalog | null> {
  const { runtime, source } = clusters;
  const found = await runtime.retrying(
    'read the source catalog',
    () => readCatalogReport(source, filterOf(record), signal),
    signal,
  );
  const { report } = withChosenIndexes(found, record.options);
  refuseUnsupported(report);
  const now = new Map(report.catalog.map((entry) => [namespaceOf(entry), entry]));
  const replaced: CatalogEntry[] = [];
  const expected = committed.map((entry) => {
    const present = now.get(namespaceOf(entry));
    if (present === undefined || present.uuid === entry.uuid) return entry;
    replaced.push(entry);
    return { ...entry, uuid: present.uuid };
  });
  const changes = catalogChanges(expected, report.catalog);
  if (changes.some(({ kind }) => kind !== 'primaryShard' && kind !== 'chunksMoved')) return null;
  const remap = remapOf(record);
  for (const entry of replaced) if (await isEmptied(clusters, remap, entry, signal)) return null;
  return report.catalog;
}

/** Whether the source's collection of this name has no document, though the destination's has one. */
async function isEmptied(
  clusters: BothClusters,
  remap: NamespaceRemap,
  entry: CatalogEntry,
  signal: AbortSignal,
): Promise<boolean> {
  const { runtime, source, destination } = clusters;
  const hasDocuments = ({ router }: ClusterClient, collection: Pick<CatalogEntry, 'database' | 'name'>) =>
    runtime.retrying('look for documents', () => holdsDocuments(router, collection, signal), signal);
  if (await hasDocuments(source, entry)) return false;
  return hasDocuments(destination, remap.onDestination(entry));
}
