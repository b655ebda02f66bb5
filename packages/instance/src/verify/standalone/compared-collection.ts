import type { RawValue } from '../../bson/scan.js';
import type { Namespace } from '../../cluster/node-client.js';
import type { Side } from '../compare/sides.js';
import type { OrderedRead } from '../compare/ordered-documents.js';

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

/** The collection's namespace on one side. */
export function namespaceOn(side: Side, collection: ComparedCollection): Namespace {
  return side === 'source' ? collection : collection.destination;
}

/**
 * What one side reads for a partition.
 * @param after a cluster time that the read includes
 */
export function readOf(
  collection: ComparedCollection,
  { lower, upper }: ComparisonPartition,
  side: Side,
  after: bigint,
): OrderedRead {
  const { sizeBytes, documentCount } = collection;
  const { database, name } = namespaceOn(side, collection);
  return { database, collection: name, lower, upper, after, documentBytes: sizeBytes / Math.max(1, documentCount) };
}
