import { z } from 'zod';
import { describedOrderSchema } from '../contract/copy-order.js';
import { historySchema } from '../contract/history.js';
import { inventorySchema } from '../contract/inventory.js';
import { LOG_RECORDS_MAX, logRecordSchema } from '../contract/log-record.js';
import { partitionCountsSchema } from './instance-stats.js';

/** Maximum collections that one instance publishes. Larger and more active ones come first; the rest is summed up. */
export const NAMESPACES_PUBLISHED_MAX = 10_000;

const count = z.number().nonnegative();

/** One instance's part in one collection. */
export const namespacePartSchema = z.object({
  namespace: z.string(),
  /** Its name on the destination; absent when it is the same. */
  destination: z.string().optional(),
  /** Estimated before the copy. */
  totalBytes: count,
  copiedBytes: count,
  copiedDocuments: count,
  partitions: partitionCountsSchema,
  /** In which order the instance copies it, and why; absent where no option asks for another one than that of `_id`. */
  copyOrders: z.array(describedOrderSchema).optional(),
});

/** The collections of one instance. */
export const namespacesDetailsSchema = z.object({
  rows: z.array(namespacePartSchema).max(NAMESPACES_PUBLISHED_MAX),
  /** Number and sums of the collections that are not in the rows. */
  others: z.object({ collections: count, totalBytes: count, copiedBytes: count, copiedDocuments: count }),
});

/** Names that one check lists: enough to compare what a filter matches with what was meant. */
export const CHECKED_NAMES_MAX = 200;

/** Result of the last preflight checks. */
export const preflightDetailsSchema = z.object({
  at_ms: z.number(),
  canStart: z.boolean(),
  items: z
    .array(
      z.object({
        check: z.string(),
        result: z.enum(['passed', 'warning', 'failed', 'unchecked']),
        error: z.string().nullable(),
        description: z.string(),
        /** What the description counts, such as all collections that the filter matches; absent where it names all. */
        names: z.array(z.string()).max(CHECKED_NAMES_MAX).optional(),
      }),
    )
    .max(100),
});

/** The last warnings and errors of an instance's log. */
export const logsDetailsSchema = z.object({ records: z.array(logRecordSchema).max(LOG_RECORDS_MAX) });

const answerSchema = z.object({
  /** Of the question that this answers. */
  questionId: z.string(),
  at_ms: z.number(),
  /** Why there is no answer; null when there is one. */
  failure: z.object({ error: z.string(), errorDescription: z.string() }).nullable(),
});

/** A cluster as far as it decides which options a start may have. */
export const clusterFactsSchema = z.object({
  name: z.string(),
  kind: z.enum(['sharded', 'replicaSet']),
  shards: count,
  version: z.string(),
  /** Whether it can block the writes of users. */
  blocksWrites: z.boolean(),
});

/** Maximum collections of a listing; the rest is summed up. */
export const LISTED_COLLECTIONS_MAX = 10_000;

/** One collection of the source before a start. */
export const listedCollectionSchema = z.object({
  database: z.string(),
  collection: z.string(),
  /** Estimated. */
  totalBytes: count,
  documents: count,
});

/** The source's collections and both clusters, before a start. */
export const sourceListingSchema = answerSchema.extend({
  clusters: z.object({ source: clusterFactsSchema, destination: clusterFactsSchema }).nullable(),
  rows: z.array(listedCollectionSchema).max(LISTED_COLLECTIONS_MAX),
  /** Number of the collections that are not in the rows; their sizes are not read. */
  unlisted: count,
});

/** The preflight checks for given options, without a start. */
export const startCheckSchema = answerSchema.extend({ report: preflightDetailsSchema.nullable() });

/** What both clusters have besides data. */
export const inventoryDetailsSchema = answerSchema.extend({ inventory: inventorySchema.nullable() });

/**
 * Details that instances publish besides reports, because they are too large to send several times a second. Each
 * instance publishes its own `namespaces`, `preflight` and `logs`; the leader publishes the fleet's `history`
 * and the answers to questions of coordinators.
 */
export const detailSchemas = {
  namespaces: namespacesDetailsSchema,
  preflight: preflightDetailsSchema,
  history: historySchema,
  logs: logsDetailsSchema,
  sourceListing: sourceListingSchema,
  startCheck: startCheckSchema,
  inventory: inventoryDetailsSchema,
};

/** Topics of which the fleet has one, whoever publishes it. */
export const fleetTopics: readonly DetailTopic[] = ['history', 'sourceListing', 'startCheck', 'inventory'];

/** Topic of published details. */
export type DetailTopic = keyof typeof detailSchemas;
/** Published details by topic. */
export type PublishedDetails = { [Topic in DetailTopic]: z.output<(typeof detailSchemas)[Topic]> };
export type NamespacePart = z.output<typeof namespacePartSchema>;
