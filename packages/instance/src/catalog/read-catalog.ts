import type { Clock } from '../async/clock.js';
import { mapBounded } from '../async/together.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { bucketsOf, seriesOf, seriesRelease, shownName } from '../cluster/time-series.js';
import { listCollections, type ListedNamespace, listNamespaces, readSize } from './list-namespaces.js';
import type { NamespaceFilter } from './namespace-filter.js';
import type { Catalog, CatalogEntry, InconsistentIndex } from './namespace.js';
import { readIndexes } from './read-indexes.js';
import { listPlaced, type PlacementReader } from './read-sharding.js';

/**
 * Collections read concurrently: each costs up to four small commands, so this hides the round trips of large catalogs.
 */
const COLLECTIONS_PARALLEL = 16;

/** A catalog together with what prevents a migration. */
export interface CatalogReport {
  catalog: Catalog;
  /** Namespaces of included time series that cannot be migrated, and are not part of the catalog. */
  timeSeries: string[];
  /** Indexes that differ between the shards of a collection. */
  inconsistentIndexes: InconsistentIndex[];
}

/**
 * Reads every included collection and view with its options, indexes, shard key, chunks and estimated size, in order of
 * namespace; time series by their buckets. Skips collections that are dropped in the meantime.
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
  const leavesOut = cluster.version[0] < seriesRelease;
  const ordinary = listed.filter(({ type, name }) => type !== 'timeseries' && !(leavesOut && seriesOf(name) !== null));
  const read = await mapBounded(ordinary, COLLECTIONS_PARALLEL, (row) => readEntry(cluster, placements, row, signal));
  const found = read.filter((result) => result !== null);
  return {
    catalog: found.map((result) => result.entry),
    timeSeries: listed
      .filter((row) => row.type === 'timeseries' && (leavesOut || !hasBuckets(listed, row)))
      .map(shownName),
    inconsistentIndexes: found.flatMap((result) => result.inconsistent),
  };
}

/** Whether a list has the buckets of a time series: releases after 8.2 keep them in another form. */
function hasBuckets(listed: readonly ListedNamespace[], { database, name }: ListedNamespace): boolean {
  return listed.some((row) => row.database === database && row.name === bucketsOf(name));
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

/** Pauses before another read: a recreated collection or a committed index reaches all shards within moments. */
const pauses_ms = [100, 400, 1_500] as const;

/**
 * Reads the source's catalog, and repeats that while its shards disagree about indexes. Each shard is asked at a
 * different moment. So one may still report an old collection, or lack an index, while another already has the new one.
 * Only what every read shows is a disagreement.
 * @param known disagreements that lasted before, which need no other read
 * @throws what the client throws
 */
export async function readSettledCatalog(
  source: ClusterClient,
  filter: NamespaceFilter,
  clock: Pick<Clock, 'sleep'>,
  signal: AbortSignal,
  known: readonly InconsistentIndex[] = [],
): Promise<CatalogReport> {
  let report = await readCatalogReport(source, filter, signal);
  let lasting = report.inconsistentIndexes;
  for (const pause_ms of pauses_ms) {
    if (lasting.every((one) => known.some((before) => isSame(before, one)))) break;
    await clock.sleep(pause_ms, signal);
    report = await readCatalogReport(source, filter, signal);
    lasting = report.inconsistentIndexes.filter((one) => lasting.some((before) => isSame(before, one)));
  }
  return { ...report, inconsistentIndexes: lasting };
}

function isSame(a: InconsistentIndex, b: InconsistentIndex): boolean {
  return a.namespace === b.namespace && a.index === b.index;
}
