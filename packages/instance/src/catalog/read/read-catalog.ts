import type { ClusterClient } from '../../cluster/node-client.js';
import { listCollections, type ListedNamespace, listNamespaces } from './list-namespaces.js';
import { mapBounded } from '../../async/together.js';
import type { Catalog, CatalogEntry, InconsistentIndex } from '../namespace.js';
import type { NamespaceFilter } from '../namespace-filter.js';
import { readIndexes } from './read-indexes.js';
import { listPlaced, type PlacementReader } from './read-sharding.js';
import { readSize } from './read-sizes.js';

/**
 * Collections read concurrently: each costs up to four small commands, so this hides the round trips of large catalogs.
 */
const COLLECTIONS_PARALLEL = 16;

/** A catalog together with what prevents a migration. */
export interface CatalogReport {
  catalog: Catalog;
  /** Namespaces of included time-series collections, which are not part of the catalog. */
  timeSeries: string[];
  /** Indexes that differ between the shards of a collection. */
  inconsistentIndexes: InconsistentIndex[];
}

/**
 * Reads every included collection and view with its options, indexes, shard key, chunks and estimated size, in order of
 * namespace. Skips time series and collections that are dropped in the meantime.
 * @throws what the client throws (permissions, lost connections); only the estimates may fail
 */
export async function readCatalog(
  cluster: ClusterClient,
  filter: NamespaceFilter,
  signal: AbortSignal,
): Promise<Catalog> {
  return (await readCatalogReport(cluster, filter, signal)).catalog;
}

/** Like `readCatalog`, with the time series and inconsistent indexes that a start must refuse. */
export async function readCatalogReport(
  cluster: ClusterClient,
  filter: NamespaceFilter,
  signal: AbortSignal,
): Promise<CatalogReport> {
  const list = () => listNamespaces(cluster.router, filter, signal);
  const { listed, placements } = await listPlaced(cluster, list, signal);
  const ordinary = listed.filter((row) => row.type !== 'timeseries');
  const read = await mapBounded(ordinary, COLLECTIONS_PARALLEL, (row) => readEntry(cluster, placements, row, signal));
  const found = read.filter((result) => result !== null);
  return {
    catalog: found.map((result) => result.entry),
    timeSeries: listed.filter((row) => row.type === 'timeseries').map((row) => `${row.database}.${row.name}`),
    inconsistentIndexes: found.flatMap((result) => result.inconsistent),
  };
}

/**
 * Reads one collection of a database by its UUID, whatever its name.
 * @returns null if the database has none of this UUID, or it is being dropped
 * @throws what the client throws
 */
export async function readCollectionByUuid(
  cluster: ClusterClient,
  database: string,
  uuid: string,
  signal: AbortSignal,
): Promise<CatalogEntry | null> {
  const list = async () => (await listCollections(cluster.router, database, signal)).filter((row) => row.uuid === uuid);
  const { listed, placements } = await listPlaced(cluster, list, signal);
  const [row] = listed;
  return row === undefined ? null : ((await readEntry(cluster, placements, row, signal))?.entry ?? null);
}

interface ReadEntry {
  entry: CatalogEntry;
  inconsistent: InconsistentIndex[];
}

async function readEntry(
  cluster: ClusterClient,
  placements: PlacementReader,
  listed: ListedNamespace,
  signal: AbortSignal,
): Promise<ReadEntry | null> {
  const placement = await placements.placementOf(listed, signal);
  if (placement === null) return null;
  const { database, name, type, uuid, options } = listed;
  if (type === 'view') {
    const size = { sizeBytes: 0, documentCount: 0 };
    return { entry: { database, name, type, uuid, options, indexes: [], ...placement, ...size }, inconsistent: [] };
  }
  const found = await readIndexes(cluster, listed, placement.sharding, signal);
  if (found === null) return null;
  const { indexes, building, inconsistent } = found;
  const size = await readSize(cluster.router, database, name, signal);
  return {
    entry: {
      ...{ database, name, type: 'collection', uuid, options, indexes },
      ...(building.length > 0 ? { buildingIndexes: building } : {}),
      ...placement,
      ...size,
    },
    inconsistent,
  };
}
