import type { NamespaceFilter } from '../catalog/namespace-filter.js';
import { type CatalogReport, readCatalogReport } from '../catalog/read/read-catalog.js';
import type { InconsistentIndex } from '../catalog/namespace.js';
import type { Clock } from '../async/clock.js';
import type { ClusterClient } from '../cluster/node-client.js';

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
