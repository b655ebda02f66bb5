import type { RawValue } from '../../bson/scan.js';
import type { OrderedRead } from '../compare/ordered-documents.js';

/** A collection that is on both sides. */
export interface ComparedCollection {
  /** Its place in the plan of the comparison. */
  number: number;
  database: string;
  name: string;
  sourceUuid: string;
  destinationUuid: string;
  /** Its documents cannot be read in an order that is known here: it has another collation than the simple one, or no index on `_id`. */
  unordered: boolean;
  /** Estimate of the larger side. */
  sizeBytes: number;
  documentCount: number;
}

/** A range of `_id` of one collection that is compared in one go. */
export interface ComparisonPartition {
  number: number;
  /** `number` of its collection. */
  collection: number;
  /** Inclusive; null: from the beginning. */
  lower: RawValue | null;
  /** Exclusive; null: to the end. */
  upper: RawValue | null;
}

/** What one side reads for a partition. */
export function readOf(
  collection: ComparedCollection,
  { lower, upper }: ComparisonPartition,
  after: bigint,
): OrderedRead {
  return { database: collection.database, collection: collection.name, lower, upper, after };
}
