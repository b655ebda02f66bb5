import { evenBounds, sampleIdsOrNone } from '../../cluster/sample-ids.js';
import { isSendable } from '../../bson/id.js';
import type { RawValue } from '../../bson/scan.js';
import { type CatalogEntry, namespaceOf } from '../../catalog/namespace.js';
import type { NamespaceRemap } from '../../catalog/namespace-remap.js';
import type { CatalogReport } from '../../catalog/read/read-catalog.js';
import { isUnordered } from '../../catalog/task-bounds.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { Sides } from '../compare/sides.js';
import type { ComparedCollection, ComparisonPartition } from './compared-collection.js';

/** What to compare: fixed at the start of a comparison. */
export interface ComparisonPlan {
  collections: ComparedCollection[];
  /** Partitions of the largest collections first. */
  partitions: ComparisonPartition[];
}

/** Below this size another partition costs more than it gains. */
const partitionBytesMin = 16 * 2 ** 20;
/** Samples per partition: makes the ranges even. */
const samplesPerPartition = 16;
/** Partitions per reader at the start: a reader that finishes early takes more. */
const partitionsPerReader = 4;

/**
 * Plans the comparison of all collections that both sides have.
 * @param readers partitions compared at once
 * @throws what the source's client throws
 */
export async function planComparison(
  source: ClusterClient,
  reports: Sides<CatalogReport>,
  remap: NamespaceRemap,
  readers: number,
  signal: AbortSignal,
): Promise<ComparisonPlan> {
  const found = new Map(reports.destination.catalog.filter(isCollection).map((entry) => [namespaceOf(entry), entry]));
  const both = reports.source.catalog.filter(isCollection).flatMap((entry) => {
    const other = found.get(namespaceOf(remap.toDestination(entry)));
    return other === undefined ? [] : [[entry, other] as const];
  });
  const collections = both.map(([entry, other], number) => comparedCollection(number, entry, other));
  const partitions: ComparisonPartition[] = [];
  for (const collection of [...collections].sort((a, b) => b.sizeBytes - a.sizeBytes)) {
    const bounds = await boundsOf(source, collection, readers * partitionsPerReader, signal);
    for (const [position, lower] of [null, ...bounds].entries())
      partitions.push({
        ...{ number: partitions.length, collection: collection.number },
        ...{ lower, upper: bounds[position] ?? null },
      });
  }
  return { collections, partitions };
}

function isCollection(entry: CatalogEntry): boolean {
  return entry.type === 'collection';
}

function comparedCollection(number: number, source: CatalogEntry, destination: CatalogEntry): ComparedCollection {
  const { database, name } = source;
  return {
    number,
    database,
    name,
    destination: { database: destination.database, name: destination.name },
    sourceUuid: source.uuid,
    destinationUuid: destination.uuid,
    unordered: [source, destination].some(isUnordered),
    sizeBytes: Math.max(source.sizeBytes, destination.sizeBytes),
    documentCount: Math.max(source.documentCount, destination.documentCount),
  };
}

/** `_id`s that split a large collection, in order; sampling only saves time. */
async function boundsOf(
  source: ClusterClient,
  collection: ComparedCollection,
  partitionsMax: number,
  signal: AbortSignal,
): Promise<RawValue[]> {
  const count = Math.min(partitionsMax, Math.floor(collection.sizeBytes / partitionBytesMin));
  if (count < 2 || collection.unordered) return [];
  const sample = await sampleIdsOrNone(source.router, collection, count * samplesPerPartition, signal);
  return evenBounds(sample.filter(isSendable), count);
}
