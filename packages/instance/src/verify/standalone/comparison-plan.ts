import { readFile, rename, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { isSendable } from '../../bson/id.js';
import type { RawValue } from '../../bson/scan.js';
import { textOfValue, valueOfText } from '../../bson/sent-value.js';
import type { NamespaceRemap } from '../../catalog/namespace-remap.js';
import { type CatalogEntry, namespaceOf } from '../../catalog/namespace.js';
import type { CatalogReport } from '../../catalog/read-catalog.js';
import { isUnordered } from '../../catalog/task-bounds.js';
import type { Namespace, ClusterClient } from '../../cluster/node-client.js';
import { evenBounds, sampleIdsOrNone } from '../../cluster/sample-ids.js';
import { type Lookup, lookupsOn } from '../compare/find-documents.js';
import type { KnownTimes, Sides } from '../compare/sides.js';

/** A collection that is on both sides. */
export interface ComparedCollection {
  /** Its position in the plan of the comparison. */
  number: number;
  /** Its namespace on the source. */
  database: string;
  name: string;
  destination: Namespace;
  sourceUuid: string;
  destinationUuid: string;
  /**
   * Convoy cannot read its documents in a known order: on either side it has a collation other than the simple one, or
   * neither an index on `_id` nor a clustered one.
   */
  unordered: boolean;
  /** The larger estimate of both sides. */
  sizeBytes: number;
  /** The larger estimate of both sides. */
  documentCount: number;
}

/** An `_id` range of one collection that one reader compares; an unordered collection is one range. */
export interface ComparisonPartition {
  number: number;
  /** `number` of its collection. */
  collection: number;
  /** Inclusive; null: from the beginning. */
  lower: RawValue | null;
  /** Exclusive; null: to the end. */
  upper: RawValue | null;
}

/** The collection's namespace on each side. */
export function namesOf(collection: ComparedCollection): Sides<Namespace> {
  return { source: collection, destination: collection.destination };
}

/** Where both sides of a collection are looked up. */
export function lookupSides(
  deps: Sides<ClusterClient> & { signal: AbortSignal },
  collection: ComparedCollection,
  times: KnownTimes,
): Sides<Lookup> {
  return lookupsOn(deps, namesOf(collection), times, deps.signal);
}

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

const bound = z.string().nullable();
const storedPlan = z.object({
  /** Clusters and options of the plan. */
  identity: z.string(),
  started_ms: z.number(),
  collections: z.array(
    z.object({
      number: z.number(),
      database: z.string(),
      name: z.string(),
      /** Absent in state of former releases. */
      destination: z.object({ database: z.string(), name: z.string() }).optional(),
      sourceUuid: z.string(),
      destinationUuid: z.string(),
      unordered: z.boolean(),
      sizeBytes: z.number(),
      documentCount: z.number(),
    }),
  ),
  partitions: z.array(z.object({ number: z.number(), collection: z.number(), lower: bound, upper: bound })),
});

/** A plan with its purpose and its time. */
export interface RecordedPlan {
  identity: string;
  started_ms: number;
  plan: ComparisonPlan;
}

/** Writes a plan atomically: after a crash the whole of it exists, or none. */
export async function writePlan(path: string, { identity, started_ms, plan }: RecordedPlan): Promise<void> {
  const partitions = plan.partitions.map(({ lower, upper, ...rest }) => ({
    ...rest,
    lower: lower && textOfValue(lower),
    upper: upper && textOfValue(upper),
  }));
  const text = JSON.stringify({ identity, started_ms, collections: plan.collections, partitions });
  await writeFile(`${path}.new`, text, { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
}

/** @returns null if there is none yet */
export async function readPlan(path: string): Promise<RecordedPlan | null> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  const { identity, started_ms, collections, partitions } = storedPlan.parse(JSON.parse(text));
  const restored = partitions.map(({ lower, upper, ...rest }) => ({
    ...rest,
    lower: lower === null ? null : valueOfText(lower),
    upper: upper === null ? null : valueOfText(upper),
  }));
  const named = collections.map((one) => ({
    ...one,
    destination: one.destination ?? { database: one.database, name: one.name },
  }));
  return { identity, started_ms, plan: { collections: named, partitions: restored } };
}
